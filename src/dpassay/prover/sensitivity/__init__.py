"""Sensitivity of functions of a dataset, proved for every length from their Python source, or exceeded by a pair."""

from dpassay.core.extras import require

require("prove")  # every module here needs SymPy
