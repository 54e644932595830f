"""`dpassay scan` of other people's packages, each in an environment of its own, beside the issues that are public.

A finding that no public issue below is about is counted on the terminal, for a private report, and is in no table.
"""

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import dpassay
from dpassay.core.errors import InvalidInput
from dpassay.core.records import Table

LIMIT = 60.0  # seconds, of the whole command
_HANGS = 600.0
_INSTALLING = 1800.0

REQUIREMENTS = {
    "autodp": "autodp==0.2.3.1",
    "diffprivlib": "diffprivlib==0.6.6 scikit-learn==1.8.0",  # cannot be imported with a later one
    "dp_accounting": "dp-accounting==0.6.0",
    "jax_privacy": "jax-privacy==2.0.0",
    "mbi": "mbi==2.0.0",
    "opacus": "opacus==1.6.0",
    "opendp": "opendp==0.16.0",
    "pipeline_dp": "pipeline-dp==0.3.1",
    "prv_accountant": "prv-accountant==0.2.0",
    "pydp": "python-dp==1.1.5",
    "riskcal": "riskcal==1.5.1",
    "snsql": "smartnoise-sql==1.0.10",
    "snsynth": "smartnoise-synth==1.0.8 scikit-learn==1.9.1 packaging==26.4",  # which it imports and does not require
}
"""Import name -> what is installed, with what it needs. Packages that need NumPy 1 cannot be installed beside ours."""


class Issue(NamedTuple):
    """A public issue about a wrong claim.

    Attributes:
        package: import name.
        name: how its finding's name begins.
        where: repository and number.
    """

    package: str
    name: str
    where: str


ISSUES = (
    Issue("diffprivlib", "diffprivlib.models.LinearRegression(", "IBM/differential-privacy-library#105"),
    Issue("dp_accounting", "dp_accounting.rdp.RdpAccountant, replace_one: ", "google/differential-privacy#378"),
    Issue("opendp", "opendp.measurements.make_laplace_threshold(", "opendp/opendp#2922"),
    Issue("opendp", "opendp.measurements.make_gaussian_threshold(", "opendp/opendp#2922"),
    Issue("opendp", "opendp.transformations.make_sum_of_squared_deviations(far_reals", "opendp/opendp#2923"),
    Issue("opendp", "opendp.transformations.make_b_ary_tree(bits, l2", "opendp/opendp#2924"),
    Issue("opendp", "opendp.transformations.make_b_ary_tree(pairs, l1", "opendp/opendp#2925"),
)
"""Each about a claim that the scan lists; a finding of that name is this issue's."""


def packages(environments: Path, seed: int, progress: Callable[[str], None]) -> list[Table]:
    """A scan of each package with the default settings.

    Args:
        environments: a folder with a virtual environment for each import name; missing ones are made there.
        seed: of the scans.
        progress: called with a short text before each, and with the number of findings that are not public.
    """
    rows = []
    for package, requirement in REQUIREMENTS.items():
        python = _environment(environments / package, requirement, progress)
        progress(f"scanning {package}")
        content, seconds = _scanned(python, package, seed)
        public, private = sorted_out(package, content["judged"])
        if private:
            progress(f"{package}: {private} to report privately; see `dpassay scan {package} --drafts FOLDER`")
        rows.append(row(package, content, public, seconds))
    found = sum(len(each[6].split(", ")) for each in rows if each[6])
    listed = len({issue.where for issue in ISSUES})
    title = f"{len(rows)} packages scanned, {found} of {listed} public issues found again"
    columns = [
        "package",
        "version",
        "files",
        "claims listed",
        "judged",
        "by",
        "public issues",
        "not found",
        "seconds",
        "outcome",
    ]
    return [Table(title, columns, rows)]


def sorted_out(package: str, judged: Sequence[Mapping[str, Any]]) -> tuple[set[str], int]:
    """The public issues that were found, and how many other findings there are."""
    known = [issue for issue in ISSUES if issue.package == package]
    public: set[str] = set()
    private = 0
    for each in judged:
        if each["outcome"] != "violated":
            continue
        about = [issue.where for issue in known if each["name"].startswith(issue.name)]
        public.update(about)
        private += not about
    return public, private


def row(package: str, content: Mapping[str, Any], public: set[str], seconds: float) -> list[Any]:
    """Nothing in it tells findings that are not public from claims that nothing was found against."""
    judged = content["judged"]
    missed = {issue.where for issue in ISSUES if issue.package == package} - public
    engines = Counter(each["engine"] for each in judged)
    return [
        package,
        content["package_version"],
        content["files"],
        len(judged) + len(content["not_judged"]),
        len(judged),
        ", ".join(f"{engine} ({count})" for engine, count in sorted(engines.items())),
        ", ".join(sorted(public)),
        ", ".join(sorted(missed)),
        f"{seconds:.0f}",
        "FAIL" if missed or seconds > LIMIT else "ok" if judged else "nothing judged",
    ]


def _scanned(python: Path, package: str, seed: int) -> tuple[dict[str, Any], float]:
    """What the command writes, and its seconds by the clock, from its start to its end."""
    with tempfile.TemporaryDirectory(prefix="dpassay-bench-") as name:
        file = Path(name) / "scan.json"
        command = [str(python), "-m", "dpassay", "scan", package, "--json", str(file), "--seed", str(seed)]
        environment = {**os.environ, "PYTHONPATH": str(Path(dpassay.__file__).parents[1])}
        begin = time.monotonic()
        ended = subprocess.run(
            command, cwd=name, env=environment, capture_output=True, text=True, timeout=_HANGS, check=False
        )
        seconds = time.monotonic() - begin
        if not file.exists():
            raise InvalidInput(f"the scan of {package} ended with exit code {ended.returncode}: {_last(ended.stderr)}")
        content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return content, seconds


def _environment(folder: Path, requirement: str, progress: Callable[[str], None]) -> Path:
    """Its Python; made and filled where there is none: the package first, ours must do with what it left."""
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    if python.exists():
        return python
    progress(f"installing {requirement}")
    _run([sys.executable, "-m", "venv", str(folder)])
    _run([str(python), "-m", "pip", "install", "--quiet", *requirement.split()])
    needed = [each for each in importlib.metadata.requires("dpassay") or [] if "extra ==" not in each]
    _run([str(python), "-m", "pip", "install", "--quiet", "hypothesis", *map(_bare, needed)])
    return python


def _bare(requirement: str) -> str:
    """Without what is only for some systems."""
    return re.sub(r"\s*;.*", "", requirement)


def _run(command: list[str]) -> None:
    ended = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALLING, check=False)
    if ended.returncode != 0:
        raise InvalidInput(f"{' '.join(command[1:])} failed: {_last(ended.stderr)}")


def _last(text: str) -> str:
    return (text.strip().splitlines() or ["nothing was said"])[-1]
