"""Attacks swept over their methods and settings."""
