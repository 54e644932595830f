"""Compiles for speed of compilation: these tests build many small programs and run each a few times."""

from collections.abc import Iterator

import jax
import pytest


@pytest.fixture(scope="module", autouse=True)
def quick_compilation() -> Iterator[None]:
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
    jax.clear_caches()  # else later tests run what was compiled here, several times slower
