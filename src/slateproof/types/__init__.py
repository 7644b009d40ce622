"""Room `types`."""
