"""Room `simulate`."""
