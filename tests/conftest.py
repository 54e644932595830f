"""Fixtures for every test. The only file that knows where real ratings lie."""

import gc
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import jax
import pytest
from hypothesis import HealthCheck, settings

from dpassay.data.rating_files import load_ratings
from dpassay.data.ratings import Ratings
from dpassay.runs import code

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("DPASSAY_DATA") or ROOT.parent / "shared" / "data")

# The same examples in every run, and no limit that a busy machine could miss: red means broken.
settings.register_profile("suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")


SLOW = frozenset((ROOT / "tests/slow.txt").read_text().split())
"""Tests, without their parameters, and whole files that `dev.py test --fast` leaves out."""


HALF_WRITTEN = "Error reading persistent compilation cache entry"
"""What JAX says of an entry that another process is writing; it then compiles the program itself."""

QUICKLY_COMPILED = (
    "adapters",
    "attacks",
    "auditors",
    "benchmarks",
    "commands",
    "experiments",
    "judging",
    "mechanisms",
    "models",
    "proofs",
    "replay",
    "runs",
    "scanning",
    "test_notebooks.py",
)
"""Tests of many small programs that run a few times each: what compiling optimizes there costs more than it saves."""

LONG_RUNNING = ("benchmarks/test_auditor.py", "proofs/ppns/test_tables.py")
"""Files among them where it saves more."""


def pytest_configure(config: pytest.Config) -> None:
    """What one process compiled, all others load: xdist's, notebooks' kernels and the command line's."""
    if (
        signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    ):  # in the background of a shell; tests interrupt what they start
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if getattr(config, "cache", None) and "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        folder = str(config.cache.mkdir("compiled"))
        os.environ.update(JAX_COMPILATION_CACHE_DIR=folder, JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0")
        os.environ["PYTHONWARNINGS"] = f"ignore:{HALF_WRITTEN}:UserWarning"  # for the processes that tests start
        jax.config.update("jax_compilation_cache_dir", folder)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What a whole slow file imports is not even imported when no slow test is wanted."""
    unwanted = config.option.markexpr == "not slow" and collection_path.is_relative_to(ROOT)
    return True if unwanted and collection_path.relative_to(ROOT).as_posix() in SLOW else None


def pytest_collection_finish() -> None:
    """What was imported stays: no later search for garbage goes through it, and such searches are rarer."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what is listed as slow."""
    for item in items:
        name = item.nodeid.partition("[")[0]
        if not SLOW.isdisjoint((name, name.partition("::")[0])):
            item.add_marker("slow")


@pytest.fixture(scope="module", autouse=True)
def quick_compilation(request: pytest.FixtureRequest) -> None:
    """Compiles without optimizing where that is quicker altogether, in the processes that tests start too."""
    file = request.path.as_posix().removeprefix(f"{ROOT.as_posix()}/tests/")
    quick = file.startswith(QUICKLY_COMPILED) and file not in LONG_RUNNING
    if jax.config.read("jax_disable_most_optimizations") and not quick:
        jax.clear_caches()  # else the tests to come run what was compiled before, several times slower
    jax.config.update("jax_disable_most_optimizations", quick)
    os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = str(int(quick))


@pytest.fixture
def review(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes certificates reviewed evidence of a claim: review(claim_id, kind, inputs, concludes, part=False)."""
    from dpassay.core.registry import Reviewed, reviewed_evidence
    from dpassay.replay.says import says

    added: dict[str, tuple[Reviewed, ...]] = {}

    def lookup(claim_id: str) -> tuple[Reviewed, ...]:
        return (*reviewed_evidence(claim_id), *added.get(claim_id, ()))

    def add(claim_id: str, kind: str, inputs: Mapping[str, Any], concludes: str, part: bool = False) -> None:
        lines = says(kind, {name: each for name, each in inputs.items() if name != "supports"})
        added[claim_id] = (*added.get(claim_id, ()), Reviewed(kind, lines, concludes, part))

    for module in ("replay", "judging.judge"):
        monkeypatch.setattr(f"dpassay.{module}.reviewed_evidence", lookup)
    return add


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real datasets; skips where they are absent, since they may not be redistributed."""
    if not DATA.is_dir():
        pytest.skip("needs real ratings: set DPASSAY_DATA to a folder that holds ml-100k")
    return DATA


@pytest.fixture(scope="session")
def movielens(real_data: Path) -> Ratings:
    """MovieLens 100K."""
    folder = real_data / "ml-100k"
    if not folder.is_dir():
        pytest.skip("needs MovieLens 100K: set DPASSAY_DATA to a folder that holds ml-100k")
    return load_ratings(folder)


@pytest.fixture
def code_changed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], AbstractContextManager[None]]:
    """Inside `with code_changed(MODULE):` the module's file reads otherwise to whoever keeps runs."""
    read = code.source

    def forget() -> None:
        code.code_digest.cache_clear()
        code._read_once.cache_clear()

    @contextmanager
    def changed(module: str) -> Iterator[None]:
        assert read(module) is not None
        with monkeypatch.context() as patch:
            patch.setattr(code, "source", lambda name: (read(name) or b"") + b"\n0" if name == module else read(name))
            forget()
            yield
        forget()

    return changed
