"""Generators: functions that fill a builder with a cloth or a soft body."""
