"""Proofs and exact counterexamples for mechanisms written as ordinary Python functions."""
