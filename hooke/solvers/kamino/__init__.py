"""Mechanisms with closed loops, limits, hard frictional contact and impacts, by proximal ADMM."""
