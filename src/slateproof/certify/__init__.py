"""Room `certify`."""
