"""The configuration of SolverKamino."""
