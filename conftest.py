"""Keeps one module object per file: the area folders are imported as `dpassay.<area>`, never from the root."""

import sys

import pytest

AREAS = {"mechanisms", "auditors", "attacks", "proofs"}
collect_ignore = [*sorted(AREAS), "notebooks", "build", "dev.py"]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fails the run when an area was imported outside the namespace, which would make two copies of its classes."""
    twice = AREAS & set(sys.modules)
    if twice:
        raise RuntimeError(f"imported outside the dpassay namespace: {', '.join(sorted(twice))}; use dpassay.<area>")
