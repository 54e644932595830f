"""Mechanisms of the literature, and broken twins, as ordinary Python: what `dp.prove` is measured with."""

from dpassay.benchmarks.prove_programs import coins, gaussian, noisy_max, pipelines, selection, sparse_vector, sums
from dpassay.benchmarks.prove_programs.record import Program

PROGRAMS: tuple[Program, ...] = (
    *sparse_vector.PROGRAMS,
    *noisy_max.PROGRAMS,
    *sums.PROGRAMS,
    *coins.PROGRAMS,
    *gaussian.PROGRAMS,
    *selection.PROGRAMS,
    *pipelines.PROGRAMS,
)
