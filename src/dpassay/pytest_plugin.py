"""Pytest plugin: audits as tests, with one false-alarm rate for the whole session."""
