"""Determinantal point processes (Fitzsimons et al.): relevance and diversity of private lists."""
