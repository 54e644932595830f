"""Telling from a published sketch whether a rating is in it."""
