"""What compiling costs a session of tests of JAX mechanisms, and the same session when it is run again.

The programs that the first compiles are kept (`dpassay.runs.compiled`), so the second should spend its time on samples.
What an audit learns in its time limit differs from run to run, and with it some programs; those are compiled anew. The
seconds are those that JAX's own monitoring counts: tracing, lowering, and compiling or loading.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpassay.benchmarks.kills import environment
from dpassay.core.errors import InvalidInput
from dpassay.core.records import Table
from dpassay.core.text import rounded

TITLE = "A session of tests of JAX mechanisms, run twice: what compiling costs"
MOST = 0.1  # of the second session's time
LENGTHS, QUICK_LENGTHS = (3, 5), (3,)
_COUNTED = "counted.json"
_TESTS = """
import jax
import jax.numpy as jnp
import pytest

from dpassay.pytest_plugin import assert_private


class Sum:
    def __init__(self, scale):
        self.scale = scale

    def sample(self, key, data):
        return data.sum() + self.scale * jax.random.laplace(key)


class Vector(Sum):
    def sample(self, key, data):
        return data + self.scale * jax.random.laplace(key, data.shape)


class NoisyMax(Sum):
    def sample(self, key, data):
        return jnp.argmax(data + self.scale * jax.random.laplace(key, data.shape))


class Above(Sum):
    def sample(self, key, data):
        one, two = jax.random.split(key)
        return data + self.scale * jax.random.laplace(one, data.shape) > self.scale * jax.random.laplace(two)


@pytest.mark.parametrize("mechanism", [Sum(1.0), Vector(1.0), NoisyMax(2.0), Above(4.0)])
@pytest.mark.parametrize("length", LENGTHS)
def test_release(mechanism, length):
    data = jnp.zeros(length)
    assert_private(mechanism, data, data.at[0].set(1.0), epsilon=1.0)
"""
_COUNTING = f"""
import json

import jax

counted = {{}}


def count(event, seconds, **_):
    number, total = counted.get(event, (0, 0.0))
    counted[event] = number + 1, total + seconds


jax.monitoring.register_event_duration_secs_listener(count)


def pytest_sessionfinish(session):
    with open("{_COUNTED}", "w") as file:
        json.dump(counted, file)
"""


def tables(quick: bool, progress: Callable[[str], None]) -> list[Table]:
    """One row for each session; the second says FAIL where more than `MOST` of it is compiling."""
    lengths = QUICK_LENGTHS if quick else LENGTHS
    rows: list[list[Any]] = []
    with tempfile.TemporaryDirectory(prefix="dpassay-bench-") as name:
        folder = Path(name)
        (folder / "test_releases.py").write_text(_TESTS.replace("LENGTHS", repr(lengths)), encoding="utf-8")
        (folder / "conftest.py").write_text(_COUNTING, encoding="utf-8")
        for session in ("first", "second"):
            progress(f"{4 * len(lengths)} audits, the {session} session")
            seconds, counted = _session(folder)
            stages = ("jaxpr_trace", "jaxpr_to_mlir_module", "backend_compile")
            made = [counted.get(f"/jax/core/compile/{stage}_duration", (0, 0.0)) for stage in stages]
            loaded, _ = counted.get("/jax/compilation_cache/cache_retrieval_time_sec", (0, 0.0))
            compiling = sum(spent for _, spent in made)
            said = "" if session == "first" else "ok" if compiling < MOST * seconds else "FAIL"
            numbers = [made[-1][0] - loaded, loaded, *map(rounded, (seconds, *(spent for _, spent in made)))]
            rows.append([session, 4 * len(lengths), *numbers, f"{compiling / seconds:.1%}", said])
    columns = ["session", "audits", "compiled", "loaded", "seconds", "tracing", "lowering", "compiling or loading"]
    return [Table(TITLE, [*columns, "share of the time", ""], rows)]


def _session(folder: Path) -> tuple[float, dict[str, tuple[int, float]]]:
    """The seconds that a session takes, and what JAX counted in it."""
    told = ("JAX_COMPILATION", "JAX_PERSISTENT", "JAX_DISABLE", "XLA_", "PYTEST_")  # a session is as its user begins it
    variables = environment(folder, XDG_CACHE_HOME=str(folder / "cache"))
    variables = {name: each for name, each in variables.items() if not name.startswith(told)}
    begin = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_releases.py"]
    ended = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - begin
    if ended.returncode:
        raise InvalidInput(
            f"a session ended with exit code {ended.returncode}: {' '.join(ended.stdout.split())[-300:]}"
        )
    return seconds, json.loads((folder / _COUNTED).read_text(encoding="utf-8"))
