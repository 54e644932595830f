"""Experiments that rerun the papers' tables."""
