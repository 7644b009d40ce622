"""Timing scripts; each runs as ``python -m benchmarks.NAME`` and prints a table."""
