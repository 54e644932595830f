"""What users install: both wheels and the sources from a clean clone, in environments of the base and of both."""

import importlib.metadata
import importlib.resources
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
from collections.abc import Iterable
from email.message import Message
from email.parser import BytesParser
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from packaging.requirements import Requirement

from dpassay.core.certificate import Certificate
from dpassay.core.claims import Context
from dpassay.core.extras import EXTRAS, PAPERS, ROOMS
from dpassay.core.registry import find_claim
from dpassay.data.ratings import synthetic
from dpassay.judging.judge import judge
from dpassay.proofs.rating_collection.accuracy import union_proof

ROOT = Path(__file__).parents[1]
AREAS = ("mechanisms", "auditors", "attacks", "proofs")
MAX_WHEEL = 1_000_000  # bytes, of the base
MAX_PACKAGES = 22
BASE_ROOMS = "accounting adapters auditors commands core data replay report runs scanning"
PARQUET = ("--dataset1", "ratings.parquet", "--dataset2", "ratings.parquet")
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


class Built(NamedTuple):
    """The source distribution, the wheel that is built from it, and that of the papers, built from it as well."""

    sources: Path
    wheel: Path
    papers: Path


@pytest.fixture(scope="module")
def built(listed: list[str], tmp_path_factory: pytest.TempPathFactory) -> Built:
    clone, dist = tmp_path_factory.mktemp("clone"), tmp_path_factory.mktemp("dist")
    for name in listed:
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, clone / name, follow_symlinks=False)
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(dist)]
    program([*build, str(clone)], cwd=clone)
    (sources,) = dist.glob("*.tar.gz")
    with tarfile.open(sources) as archive:
        archive.extractall(clone / "unpacked", filter="data")
    (unpacked,) = (clone / "unpacked").iterdir()
    program([*build, "--wheel", str(unpacked / "papers")], cwd=clone)
    return Built(sources, next(dist.glob("dpassay-*.whl")), next(dist.glob("dpassay_papers-*.whl")))


@pytest.fixture(scope="module")
def base(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and what it requires without extras."""
    return environment(tmp_path_factory.mktemp("base"), PROJECT["dependencies"], built.wheel)


@pytest.fixture(scope="module")
def whole(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with both wheels and what they require, without other extras."""
    extra = PROJECT["optional-dependencies"]
    requirements = [*PROJECT["dependencies"], *extra["prove"], *extra["search"], *extra["papers"]]
    third_party = [text for text in requirements if not text.startswith("dpassay")]
    return environment(tmp_path_factory.mktemp("whole"), third_party, built.wheel, built.papers)


def environment(folder: Path, requirements: list[str], *wheels: Path) -> Path:
    """Makes an environment of these wheels; what they require is linked to where this environment has it."""
    venv.create(folder, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    for name in required(requirements):
        found = importlib.metadata.distribution(name)
        for entry in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
            (site / entry).symlink_to(Path(str(found.locate_file(entry))))
    pip = [sys.executable, "-m", "pip", "--python", str(folder), "install", "--quiet", "--disable-pip-version-check"]
    program([*pip, "--no-deps", "--no-index", "--no-compile", *map(str, wheels)])
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
    with tarfile.open(built.sources) as archive:
        files = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    made = {name for name in files if name in ("PKG-INFO", "setup.cfg") or ".egg-info/" in name}
    assert files - made == packaged(listed)


def files_of(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def under(names: Iterable[str], rooms: Iterable[str]) -> set[str]:
    return {name for name in names for room in rooms if name.startswith(f"dpassay/{room}/")}


def test_the_wheels_are_the_package_and_share_no_file(built, listed):
    base, papers = files_of(built.wheel), files_of(built.papers)
    tree = {name.removeprefix("src/") for name in packaged(listed) if name.startswith("src/")}
    kept_out = {name for name in tree - papers if fnmatch(name, "dpassay/results/*.json")}
    kept_out |= under(tree, ["benchmarks"])
    assert not base & papers
    assert base | papers == tree - kept_out
    assert papers == under(papers, ROOMS)
    assert not under(base, ROOMS)
    assert {f"dpassay/results/{name}.json" for name in ("pricdr", "pricdr-sweeps", "rating-collection")} <= papers


def test_the_base_is_a_small_wheel(built):
    assert built.wheel.stat().st_size <= MAX_WHEEL


def test_the_papers_have_no_sources_of_their_own():
    said = program([sys.executable, "setup.py", "sdist"], ROOT / "papers", 1).stderr
    assert "only a wheel is built here" in said


@pytest.mark.parametrize("id", ["RC-UTIL", "CD-RQ1", "CD-RQ2", "CD-RQ3", "CD-RQ4", "CD-RQ5"])
def test_results_in_the_wheel_give_the_verdicts_of_the_repository(built, monkeypatch, id):
    claim = find_claim(id)
    assert claim is not None
    context = Context(synthetic())
    ours = judge(claim, context)
    with zipfile.ZipFile(built.papers) as archive:
        at, installed = zipfile.Path(archive), importlib.resources.files

        def files(name: str) -> Any:
            return at.joinpath(*name.split(".")) if name.startswith(PAPERS) else installed(name)

        monkeypatch.setattr("importlib.resources.files", files)
        theirs = judge(claim, context)
    assert (theirs.verdict, theirs.certificates) == (ours.verdict, ours.certificates)


def test_the_metadata_are_those_of_a_package_page(built):
    program([sys.executable, "-m", "twine", "check", "--strict", *map(str, built)])
    base, papers = metadata_of(built.wheel), metadata_of(built.papers)
    for metadata in (base, papers):
        urls = dict(text.split(", ") for text in metadata.get_all("Project-URL", ()))
        assert {"Homepage", "Documentation", "Changelog", "Issues"} == set(urls)
        assert all(url.startswith("https://") for url in urls.values())
        assert metadata["License-File"] == "LICENSE"
    assert set(base.get_all("Provides-Extra", ())) == set(PROJECT["optional-dependencies"])


def test_the_papers_are_of_the_version_of_the_base(built):
    base, papers = metadata_of(built.wheel), metadata_of(built.papers)
    assert (papers["Version"], papers["Requires-Python"]) == (base["Version"], base["Requires-Python"])
    requirements = {Requirement(text) for text in papers.get_all("Requires-Dist", ())}
    assert f"dpassay=={PROJECT['version']}" in map(str, requirements)
    assert {extra for each in requirements for extra in each.extras} == {"prove", "search"}
    assert {each.name for each in requirements} == {"dpassay", "statsmodels"}


def metadata_of(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return BytesParser().parsebytes(archive.read(name))


def test_the_base_is_small(base):
    assert 1 + len(required(PROJECT["dependencies"])) <= MAX_PACKAGES  # `python3 dev.py size` measures it in bytes


def test_no_extra_is_in_the_base(base):
    code = f"import importlib.util as u; print([n for n in {list(EXTRAS.values())} for n in n if u.find_spec(n)])"
    assert program([str(base / "bin/python"), "-c", code]).stdout == "[]\n"


def test_all_but_what_needs_an_extra_is_imported_in_the_base(base):
    code = (
        "import importlib, pkgutil, dpassay\n"
        f"rooms = {BASE_ROOMS!r}.split()\n"
        "skipped = {'dpassay.auditors.strategies'}  # they are of Hypothesis\n"
        "def walk(path, name):\n"
        "    for found in pkgutil.iter_modules(path, name + '.'):\n"
        "        if found.name not in skipped:\n"
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


OWN = """
import math
import dpassay as dp

class Mine:
    \"\"\"A bit, told truly with probability 3/4.\"\"\"
    def sample(self, key, bit): raise NotImplementedError
    def outputs(self, bit): return [0, 1]
    def log_prob(self, output, bit): return math.log(0.75 if output == bit else 0.25)

loss = dp.exact(Mine(), 0, 1)
assert abs(loss.epsilon - math.log(3)) < 1e-12
assert loss.certificate is None
assert dp.check_noise("laplace", epsilon=1.0, scale=0.5, certificate="noise.json").outcome == "refuted"
"""


def test_exact_losses_and_accounting_in_the_base(base, tmp_path):
    program([str(base / "bin/python"), "-c", OWN], tmp_path)
    assert "1 of 1 certificates check" in program([str(base / "bin/dpassay"), "replay", "noise.json"], tmp_path).stdout


def test_an_attack_with_the_papers(whole, tmp_path):
    program([str(whole / "bin/dpassay"), "attack", "presence", "--html", "attack.html"], tmp_path)
    assert (tmp_path / "attack.html").stat().st_size > 10_000


def test_verdicts_and_their_replay_with_the_papers(whole, tmp_path):
    dpassay = str(whole / "bin/dpassay")
    claims = ["--claim", "RC-UNION", "--claim", "RC-UTIL", "--claim", "DP-INF"]
    said = program([dpassay, "verify", "--quick", *claims, "--certificates", "kept"], tmp_path).stdout
    assert "RC-UNION" in said
    files = sorted(str(path) for path in (tmp_path / "kept").glob("*.json"))
    assert len(files) >= 2
    said = program([dpassay, "replay", *files], tmp_path).stdout
    assert f"{len(files)} of {len(files)} certificates check" in said


def test_a_registered_mechanism_with_the_papers(whole, tmp_path):
    code = "import dpassay as dp; print(dp.mechanism('randomized_response').claim.epsilon, len(dp.mechanisms()) > 10)"
    assert program([str(whole / "bin/python"), "-c", code], tmp_path).stdout == "1.0 True\n"


@pytest.mark.parametrize(
    ("arguments", "package", "extra"),
    [
        (["verify", "--quick"], "dpassay-papers", "papers"),
        (["verify", "--list"], "dpassay-papers", "papers"),
        (["experiment", "ppns", "--quick"], "dpassay-papers", "papers"),
        (["attack", "presence"], "dpassay-papers", "papers"),
        (["attack", "presence", "--help"], "dpassay-papers", "papers"),
        (["search", "ppns", "--relation", "replace_one:rating", "--epsilon", "1"], "dpassay-papers", "papers"),
        (["replay", "--kernel"], "dpassay-papers", "papers"),
        (["replay", "proof.json"], "dpassay-papers", "papers"),
        (["prove", "mine:total", "--relation", "one_query", "--epsilon", "1"], "cvc5", "prove"),
        (["scan", "click"], "hypothesis", "search"),
        (["audit", "mine:total", *PARQUET, "--epsilon", "1"], "pyarrow", "parquet"),
    ],
)
def test_a_command_says_what_to_install(base, tmp_path, arguments, package, extra):
    (tmp_path / "ratings.parquet").write_bytes(b"PAR1")
    (tmp_path / "mine.py").write_text("def total(rng, data):\n    return sum(data) + rng.laplace()\n")
    write_proof(tmp_path / "proof.json")
    said = program([str(base / "bin/dpassay"), *arguments], tmp_path, 2)
    assert said.stderr == f"dpassay: {package} is not installed: pip install 'dpassay[{extra}]'\n"
    assert "checks" not in said.stdout


@pytest.mark.parametrize(
    ("statement", "package", "extra"),
    [
        ("dp.mechanism('ppns')", "dpassay-papers", "papers"),
        ("dp.mechanisms()", "dpassay-papers", "papers"),
        ("dp.verify()", "dpassay-papers", "papers"),
        ("dp.replay('proof.json')", "dpassay-papers", "papers"),
        ("from dpassay.core.registry import all_claims; all_claims()", "dpassay-papers", "papers"),
        ("dp.check_stability(sum, d_out=1)", "hypothesis", "search"),
    ],
)
def test_python_says_what_to_install(base, tmp_path, statement, package, extra):
    write_proof(tmp_path / "proof.json")
    code = f"import dpassay as dp\ntry:\n    {statement}\nexcept dp.InvalidInput as error:\n    print(error)"
    said = program([str(base / "bin/python"), "-c", code], tmp_path).stdout
    assert said == f"{package} is not installed: pip install 'dpassay[{extra}]'\n"


def test_help_lists_the_attacks_in_the_base(base, tmp_path):
    assert "beta-knn" in program([str(base / "bin/dpassay"), "attack", "--help"], tmp_path).stdout


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


CERTIFIED = f"""
import sys
from pathlib import Path
from mine import noisy, total
sys.modules |= dict.fromkeys({PAPERS})
import dpassay as dp
from dpassay.replay import seal_own
from hypothesis import strategies as st

proof = dp.run_proof(noisy, relation="one_query", epsilon=1)
seal_own(**proof.certificate).write(Path("alignment.json"))
dp.sensitivity(total, bounds=(0, 1)).write_certificate("sensitivity.json")
pair = dp.check_stability(total, d_out=1, datasets=st.lists(st.integers(0, 9))).witness
pair.certificate().write(Path("stability.json"))
for kind in ("alignment", "sensitivity", "stability"):
    replayed = dp.replay(kind + ".json")
    print(replayed.kind, replayed.checks, replayed.outcome)
"""
MINE = """
def noisy(rng, answers):
    return [answer + rng.laplace(0, 1) for answer in answers]

def total(values):
    return sum(values)
"""


def test_a_users_own_certificates_need_no_papers(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "run.py").write_text(CERTIFIED)
    done = subprocess.run([sys.executable, "run.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    lines = ["alignment True holds", "sensitivity True holds", "stability True refuted"]
    assert done.stdout.splitlines() == lines, done.stderr


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
        inherited = [other for text in optional[extra] for other in Requirement(text).extras]
        declared |= {Requirement(text).name for other in inherited for text in optional[other]}
        for package in (set(packages) & set(distributions)) - {"dpassay"}:
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
