"""Accuracy against true epsilon, every mechanism on the same readers."""
