"""Contacts of SolverKamino: finding, listing, rows, memory."""
