"""SolverVBD: vertex block descent."""
