"""Proofs: see CONTRIBUTING for the shape of one."""
