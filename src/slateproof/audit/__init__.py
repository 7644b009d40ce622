"""Room `audit`."""
