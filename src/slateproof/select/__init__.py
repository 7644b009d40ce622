"""Room `select`."""
