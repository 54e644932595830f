"""The layout: root folders imported under one namespace, every package listed, every pin hashed."""

import itertools
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
AREAS = ("mechanisms", "auditors", "attacks", "proofs")
# The extra `all`: everything but the adapters.
WHOLE = ("distributed", "models", "notebooks", "papers", "parquet", "plots", "prove", "search", "tables")
ADAPTERS = ("opendp", "diffprivlib", "opacus", "dp-accounting")


@pytest.fixture(scope="module")
def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_every_folder_of_modules_is_a_package():
    folders = {path.parent for area in ("src/dpassay", *AREAS) for path in (ROOT / area).rglob("*.py")}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").is_file()] == []


@pytest.mark.skipif(not (ROOT / "mechanisms").exists(), reason="a source distribution has each file once")
@pytest.mark.parametrize("area", AREAS)
def test_area_is_linked_into_the_package(area):
    assert (ROOT / "src/dpassay" / area).samefile(ROOT / area)


@pytest.mark.parametrize(
    "name", ["requirements.lock", "requirements-dev.lock", *(f"requirements-{name}.lock" for name in ADAPTERS)]
)
def test_pins_are_hashed_and_name_no_host(name):
    text = (ROOT / name).read_text()
    blocks = re.split(r"\n(?=\S)", text.strip())
    assert blocks
    assert all("==" in block and "--hash=sha256:" in block for block in blocks)
    assert "://" not in text


def test_every_lock_is_known():
    known = {"requirements.lock", "requirements-dev.lock", *(f"requirements-{name}.lock" for name in ADAPTERS)}
    assert {path.name for path in ROOT.glob("*.lock")} == known


def test_the_whole_is_pinned(project):
    optional = project["project"]["optional-dependencies"]
    wanted = {*project["project"]["dependencies"], *itertools.chain(*(optional[extra] for extra in WHOLE))}
    assert names(wanted) - {"dpassay", "dpassay-papers"} <= pinned("requirements.lock")
    assert set(re.findall(r"[\w-]+", optional["all"][0])) == {"dpassay", *WHOLE}
    assert {"numpy", "scipy", "sympy", "hypothesis", "statsmodels", "jupyter", "jax"} <= names(wanted)


@pytest.mark.parametrize("name", ADAPTERS)
def test_every_adapter_has_an_extra_a_lock_and_tests(project, name):
    assert name in project["project"]["optional-dependencies"]
    assert {name, *names(project["project"]["dependencies"])} <= pinned(f"requirements-{name}.lock")
    assert (ROOT / "tests/adapters" / f"test_{name.replace('-', '_')}.py").is_file()


def names(requirements: Iterable[str]) -> set[str]:
    return {re.split(r"[\[<>=]", requirement)[0] for requirement in requirements}


def pinned(lock: str) -> set[str]:
    return {line.split("==")[0] for line in (ROOT / lock).read_text().splitlines() if "==" in line}


@pytest.mark.parametrize(
    "statement",
    [
        "import dpassay, dpassay.commands.main, dpassay.core.registry, dpassay.replay, dpassay.judging.verification",
        "import dpassay.data.rating_files",
        "import dpassay; dpassay.replay; dpassay.Ratings; dpassay.NeighboringRelation; dpassay.Claim",
        "from dpassay.replay import law_property, selection, statistics, witness",
    ],
)
def test_no_jax_is_imported_where_none_is_needed(statement):
    code = f"{statement}\nimport sys\nassert 'jax' not in sys.modules and 'sympy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_host_program_keeps_its_precision():
    code = (
        "import jax.numpy as jnp, dpassay, numpy as np\n"
        "m = dpassay.mechanism('npns', num_neighbors=1)\n"
        "a = np.array([[5.0, 3], [4, 2], [1, 5]]); b = a.copy(); b[1, 0] = 1\n"
        "assert dpassay.exact(m, a, b).log_probabilities1.dtype == np.float64\n"
        "assert jnp.ones(1).dtype == jnp.float32"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
