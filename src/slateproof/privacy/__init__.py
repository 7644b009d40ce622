"""Room `privacy`."""
