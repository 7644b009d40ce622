"""slateproof: a governed selection layer for recommenders."""
