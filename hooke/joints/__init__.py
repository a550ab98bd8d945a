"""Joints, one file per kind."""
