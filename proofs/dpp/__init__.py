"""Determinantal point processes (Fitzsimons et al.): the claims, and what decides them."""
