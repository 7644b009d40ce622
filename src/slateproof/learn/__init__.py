"""Room `learn`."""
