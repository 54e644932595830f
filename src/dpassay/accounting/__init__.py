"""Accountants and noise formulas under test: what a composition or a noise scale certainly loses, without sampling."""
