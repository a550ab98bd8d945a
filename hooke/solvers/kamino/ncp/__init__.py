"""The nonlinear complementarity problem of a world, and its solution."""
