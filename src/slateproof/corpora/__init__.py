"""Room `corpora`."""
