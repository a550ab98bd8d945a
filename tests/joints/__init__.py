"""Kinds of joints."""
