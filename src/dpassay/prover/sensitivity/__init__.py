"""Sensitivity of functions of a dataset, proved for every length from their Python source, or exceeded by a pair."""
