"""Resets of SolverKamino."""
