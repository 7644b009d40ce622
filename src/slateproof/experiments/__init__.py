"""Room `experiments`."""
