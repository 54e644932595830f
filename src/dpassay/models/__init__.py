"""Recommender models that experiments train; one model, one file."""
