"""Fake users who hold some of a target's ratings (Calandrino et al. 2011), against recommenders from neighbors."""
