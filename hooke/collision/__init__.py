"""Collision detection: from a model and a state to contact rows."""
