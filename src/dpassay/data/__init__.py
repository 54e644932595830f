"""Ratings and datasets: their types, and the files they are read from."""
