"""What users install: both distributions from a clean clone, and the base of them in an environment of its own."""

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from email.parser import BytesParser
from fnmatch import fnmatch
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from dpassay.core.certificate import Certificate
from dpassay.core.claims import Context
from dpassay.core.extras import EXTRAS
from dpassay.core.registry import find_claim
from dpassay.data.ratings import synthetic
from dpassay.judging.judge import judge
from dpassay.proofs.rating_collection.accuracy import union_proof

ROOT = Path(__file__).parents[1]
AREAS = ("mechanisms", "auditors", "attacks", "proofs")
MAX_WHEEL = 1_850_000  # bytes; 0.17 MB of them are theorems in Rocq, 0.09 reviewed evidence
MAX_PACKAGES = 22
BASE_ROOMS = "adapters attacks auditors commands core data judging mechanisms replay report runs"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

pytestmark = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="a clean clone is made of what git lists")


@pytest.fixture(scope="module")
def listed() -> list[str]:
    """The files of the repository, new ones included, as a clone would have them; needs no git."""
    ignored = [".git", *(ROOT / ".gitignore").read_text(encoding="utf-8").split()]
    found = []
    for folder, folders, files in os.walk(ROOT):
        here = Path(folder).relative_to(ROOT)
        linked = {name for name in folders if (ROOT / here / name).is_symlink()}
        folders[:] = sorted(name for name in set(folders) - linked if not _ignored(here / name, ignored))
        found += [(here / name).as_posix() for name in sorted({*files, *linked}) if not _ignored(here / name, ignored)]
    return found


def _ignored(path: Path, patterns: list[str]) -> bool:
    at = f"/{path.as_posix()}"
    return any(fnmatch(at if each.startswith("/") else path.name, each.rstrip("/")) for each in patterns)


@pytest.fixture(scope="module")
def built(listed: list[str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The source distribution, and the wheel that is built from it."""
    clone, dist = tmp_path_factory.mktemp("clone"), tmp_path_factory.mktemp("dist")
    for name in listed:
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, clone / name, follow_symlinks=False)
    program([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(dist), str(clone)], cwd=clone)
    return next(dist.glob("*.tar.gz")), next(dist.glob("*.whl"))


@pytest.fixture(scope="module")
def base(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and what it requires without extras, linked to where this one has it."""
    folder = tmp_path_factory.mktemp("base")
    venv.create(folder, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    for name in required(PROJECT["dependencies"]):
        found = importlib.metadata.distribution(name)
        for entry in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
            (site / entry).symlink_to(Path(str(found.locate_file(entry))))
    pip = [sys.executable, "-m", "pip", "--python", str(folder), "install", "--quiet", "--disable-pip-version-check"]
    program([*pip, "--no-deps", "--no-index", "--no-compile", str(built[1])])
    return folder


def required(requirements: list[str]) -> set[str]:
    """The names of these packages and of all that they require, here and without extras."""
    names, pending = set(), [Requirement(text) for text in requirements]
    while pending:
        requirement = pending.pop()
        if requirement.name not in names and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
            names.add(requirement.name)
            pending += map(Requirement, importlib.metadata.requires(requirement.name) or ())
    return names


def program(command: list[str], cwd: Path | None = None, code: int = 0) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, (done.stdout + done.stderr)[-3000:]
    return done


def packaged(listed: list[str]) -> set[str]:
    """Where the files of the repository lie in a source distribution: links are followed, each file is there once."""
    moved = {f"src/dpassay/{name}" if name.split("/")[0] in AREAS else name for name in listed}
    return moved - {f"src/dpassay/{area}" for area in AREAS}


def test_the_source_distribution_is_the_repository(built, listed):
    with tarfile.open(built[0]) as archive:
        files = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    made = {name for name in files if name in ("PKG-INFO", "setup.cfg") or ".egg-info/" in name}
    assert files - made == packaged(listed)


def test_the_wheel_is_the_package(built, listed):
    with zipfile.ZipFile(built[1]) as archive:
        files = {name for name in archive.namelist() if ".dist-info/" not in name}
    tree = {name.removeprefix("src/") for name in packaged(listed) if name.startswith("src/")}
    kept_out = {name for name in tree - files if fnmatch(name, "dpassay/results/*.json")}
    kept_out |= {name for name in tree if name.startswith("dpassay/benchmarks/")}
    assert files == tree - kept_out
    assert {f"dpassay/results/{name}.json" for name in ("pricdr", "pricdr-sweeps", "rating-collection")} <= files
    assert built[1].stat().st_size <= MAX_WHEEL


@pytest.mark.parametrize("id", ["RC-UTIL", "CD-RQ1", "CD-RQ2", "CD-RQ3", "CD-RQ4", "CD-RQ5"])
def test_results_in_the_wheel_give_the_verdicts_of_the_repository(built, monkeypatch, id):
    claim = find_claim(id)
    assert claim is not None
    context = Context(synthetic())
    ours = judge(claim, context)
    with zipfile.ZipFile(built[1]) as archive:
        at = zipfile.Path(archive)
        monkeypatch.setattr("importlib.resources.files", lambda name: at.joinpath(*name.split(".")))
        theirs = judge(claim, context)
    assert (theirs.verdict, theirs.certificates) == (ours.verdict, ours.certificates)


def test_the_metadata_are_those_of_a_package_page(built):
    program([sys.executable, "-m", "twine", "check", "--strict", *map(str, built)])
    with zipfile.ZipFile(built[1]) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = BytesParser().parsebytes(archive.read(name))
    urls = dict(text.split(", ") for text in metadata.get_all("Project-URL", ()))
    assert {"Homepage", "Documentation", "Changelog", "Issues"} == set(urls)
    assert all(url.startswith("https://") for url in urls.values())
    assert set(metadata.get_all("Provides-Extra", ())) == set(PROJECT["optional-dependencies"])


def test_the_base_is_small(base):
    assert 1 + len(required(PROJECT["dependencies"])) <= MAX_PACKAGES  # `python3 dev.py size` measures it in bytes


def test_no_extra_is_in_the_base(base):
    code = f"import importlib.util as u; print([n for n in {list(EXTRAS.values())} for n in n if u.find_spec(n)])"
    assert program([str(base / "bin/python"), "-c", code]).stdout == "[]\n"


def test_all_but_models_experiments_and_proofs_is_imported_in_the_base(base):
    code = (
        "import importlib, pkgutil, dpassay\n"
        f"rooms = {BASE_ROOMS!r}.split()\n"
        "skipped = {'dpassay.auditors.strategies', 'dpassay.benchmarks.sketches_peer'}\n"
        "def walk(path, name):\n"
        "    for found in pkgutil.iter_modules(path, name + '.'):\n"
        "        if found.name not in skipped and not found.name.endswith('_peer'):\n"
        "            module = importlib.import_module(found.name)\n"
        "            if found.ispkg: walk(module.__path__, found.name)\n"
        "for room in rooms:\n"
        "    package = importlib.import_module(f'dpassay.{room}')\n"
        "    walk(package.__path__, package.__name__)\n"
    )
    program([str(base / "bin/python"), "-W", "error", "-c", code])


def test_an_audit_its_report_and_its_replay_in_the_base(base, tmp_path):
    (tmp_path / "mine.py").write_text("def total(rng, data):\n    return float(sum(data) + rng.laplace(0, 1))\n")
    for name, data in (("one", [1, 1]), ("two", [1, 0])):
        (tmp_path / f"{name}.json").write_text(json.dumps(data))
    dpassay = str(base / "bin/dpassay")
    audit = [dpassay, "audit", "mine:total", "--dataset1", "one.json", "--dataset2", "two.json", "--epsilon", "0.3"]
    files = ["--num-samples", "20000", "--html", "audit.html", "--certificate", "audit.cert.json"]
    assert "REFUTED" in program([*audit, *files], tmp_path, 1).stdout
    page = (tmp_path / "audit.html").read_text()
    assert "Not drawn: matplotlib is not installed: pip install &#39;dpassay[plots]&#39;" in page
    assert "Numbers of this plot" in page
    assert "1 of 1 certificates check" in program([dpassay, "replay", "audit.cert.json"], tmp_path).stdout


def test_an_attack_in_the_base(base, tmp_path):
    program([str(base / "bin/dpassay"), "attack", "presence", "--html", "attack.html"], tmp_path)
    assert (tmp_path / "attack.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("arguments", "package", "extra"),
    [
        (["verify", "--quick"], "cvc5", "papers"),
        (["experiment", "ppns", "--quick"], "cvc5", "papers"),
        (["experiment", "ppns", "--quick", "--runs", "runs.parquet"], "pyarrow", "parquet"),
        (["attack", "presence", "--data", "ratings.parquet"], "pyarrow", "parquet"),
        (["replay", "proof.json"], "z3", "prove"),
    ],
)
def test_a_command_says_what_to_install(base, tmp_path, arguments, package, extra):
    (tmp_path / "ratings.parquet").write_bytes(b"PAR1")
    write_proof(tmp_path / "proof.json")
    said = program([str(base / "bin/dpassay"), *arguments], tmp_path, 2).stderr
    assert said == f"dpassay: {package} is not installed: pip install 'dpassay[{extra}]'\n"


def test_benchmarks_are_in_the_repository_alone(base, tmp_path):
    said = program([str(base / "bin/dpassay"), "bench", "auditor"], tmp_path, 2).stderr
    clone = "clone https://github.com/dpassay/dpassay and run `python3 dev.py run bench auditor` there"
    assert said == f"dpassay: the benchmarks measure a commit and are not in the package: {clone}\n"


def write_proof(path: Path) -> None:
    claim = find_claim("RC-UNION")
    assert claim is not None
    inputs = {name: each for name, each in union_proof()["inputs"].items() if name != "supports"}
    Certificate(claim.id, claim.statement, "proof", inputs, {}).write(path)


@pytest.mark.parametrize(
    ("package", "arguments", "extra"),
    [
        ("z3", ["verify", "--quick"], "papers"),
        ("sympy", ["verify", "--quick"], "papers"),
        ("hypothesis", ["verify", "--quick"], "papers"),
        ("statsmodels", ["experiment", "beta-knn", "--quick"], "papers"),
        ("equinox", ["experiment", "pricdr-tasks", "--quick"], "models"),
        ("optax", ["experiment", "pricdr-tasks", "--quick"], "models"),
    ],
)
def test_one_package_of_an_extra_is_missed(tmp_path, package, arguments, extra):
    lines = ("import sys", f"sys.modules[{package!r}] = None", "from dpassay.commands.main import main")
    code = "\n".join((*lines, f"sys.exit(main({arguments}))"))
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        f"dpassay: {package} is not installed: pip install 'dpassay[{extra}]'\n",
    )


@pytest.mark.parametrize("package", ["cvc5", "z3"])
def test_one_solver_is_missed(tmp_path, package):
    write_proof(tmp_path / "proof.json")
    lines = (
        "import sys",
        f"sys.modules[{package!r}] = None",
        "from dpassay.replay import replay",
        "replay('proof.json')",
    )
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], cwd=tmp_path, capture_output=True, text=True)
    assert f"InvalidInput: {package} is not installed: pip install 'dpassay[prove]'\n" in done.stderr


def test_every_import_of_an_extra_is_declared():
    optional = PROJECT["optional-dependencies"]
    distributions = importlib.metadata.packages_distributions()
    for extra, packages in EXTRAS.items():
        declared = {Requirement(text).name for text in optional[extra]}
        if "dpassay[prove]" in optional[extra]:
            declared |= {Requirement(text).name for text in optional["prove"]}
        for package in set(packages) & set(distributions):
            assert declared & set(distributions[package]), (extra, package)


def test_notebooks_import_nothing_that_their_extra_lacks():
    own = {Requirement(text) for text in PROJECT["optional-dependencies"]["notebooks"]}
    inherited = {name for requirement in own for extra in requirement.extras for name in EXTRAS[extra]}
    distributions = importlib.metadata.packages_distributions()
    there = {requirement.name for requirement in own} | required(PROJECT["dependencies"]) | {"dpassay"}
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        cells = json.loads(path.read_text())["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        imported = set(re.findall(r"^\s*(?:import|from) (\w+)", text, re.MULTILINE)) - sys.stdlib_module_names
        lacking = {name for name in imported - inherited if not there & {*distributions.get(name, ()), name}}
        assert not lacking, path.name
