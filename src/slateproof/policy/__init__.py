"""Room `policy`."""
