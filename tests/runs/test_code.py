"""What a module's code is: everything that it reaches, and nothing else."""

import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest

from dpassay.benchmarks import audit_runs, calibration
from dpassay.data.ratings import synthetic
from dpassay.experiments import EXPERIMENTS
from dpassay.experiments.attacks import experiment as attacks
from dpassay.experiments.request import Request
from dpassay.runs import code
from dpassay.runs.code import code_digest, code_lines, data_digest

FILES = {
    "mill/__init__.py": """
        from mill.at_top import X
        def bread():
            import mill.by_package
    """,
    "mill/run.py": """
        import importlib
        from typing import TYPE_CHECKING
        import mill.static
        from . import relative
        from .deep import leaf as other
        if TYPE_CHECKING:
            from mill import typed
        else:
            from mill import otherwise
        NAMES = {"a": "mill.named", "b": "mill.deep.decided:function", "c": "text.of.no.module", "d": "mill.absent"}
        def work(name):
            from mill.late import z; from mill.late_too import (
                z as y,  # (
            )
            try:
                pass
            except ImportError:
                import mill.handler
            return importlib.import_module(NAMES[name])
    """,
    "mill/static.py": "import mill.second\nTEXT = 'mill.unrelated'",
    "mill/whole.py": "from mill import bread",
    "mill/lazy/__init__.py": "import importlib\ndef __getattr__(name): return importlib.import_module(name)",
    "mill/lazy/__init__.pyi": "from mill.late import z as z",
    "mill/lazy/inner.py": "",
    "mill/uses_lazy.py": "from mill.lazy import z",
    "mill/deep/__init__.py": "",
    "mill/deep/leaf.py": "from ..up import x",
    "mill/deep/decided.py": "",
    **{f"mill/{name}.py": "" for name in ("at_top", "by_package", "relative", "named", "second", "late", "late_too",
       "handler", "otherwise", "typed", "unrelated", "up")},
}  # fmt: skip
REACHED = {"", ".at_top", ".run", ".static", ".second", ".relative", ".deep", ".deep.leaf", ".deep.decided", ".named",
           ".late", ".late_too", ".handler", ".otherwise", ".up"}  # fmt: skip


@pytest.fixture
def mill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        lines = text.strip("\n").splitlines()
        (tmp_path / name).write_text("\n".join(line.removeprefix("        ") for line in lines) + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def names(*modules: str) -> set[str]:
    return {line.split()[0] for line in code_lines(modules)}


def test_every_kind_of_import_is_followed_and_nothing_is_imported(mill: Path) -> None:
    assert names("mill.run") == {f"mill{name}" for name in REACHED}
    assert names("mill.static") == {"mill", "mill.at_top", "mill.static", "mill.second"}
    assert "mill.by_package" in names("mill.whole")  # what the package defines is used there
    assert "mill.late" in names("mill.uses_lazy") - names("mill.lazy.inner")  # by the stub
    assert not any(name.partition(".")[0] == "mill" for name in sys.modules)


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_change_counts_where_the_file_is_reached(mill: Path, name: str) -> None:
    before = code_lines(["mill.run"])
    (mill / name).write_text((mill / name).read_text() + "\n0\n")
    module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    assert (code_lines(["mill.run"]) != before) == (module.removeprefix("mill") in REACHED)


def test_a_broken_or_compiled_file_counts_by_its_contents(mill: Path) -> None:
    found = set()
    for content in (b"def", b"\x00\xff", b"\x00\xfe"):
        (mill / "mill/second.py").write_bytes(content)
        found.add(tuple(code_lines(["mill.static"])))
    assert len(found) == 3


def test_installed_packages_and_python_count(monkeypatch: pytest.MonkeyPatch) -> None:
    assert any(line.startswith("numpy-") and ".dist-info " in line for line in code_lines(["dpassay.core.privacy"]))
    before = code_digest("dpassay.core.errors")
    monkeypatch.setattr(code.platform, "python_version", lambda: "3.0")
    code_digest.cache_clear()
    assert code_digest("dpassay.core.errors") != before
    monkeypatch.undo()
    code_digest.cache_clear()
    assert code_digest("dpassay.core.errors") == before


def test_package_data_have_a_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "__file__", str(tmp_path / "runs" / "code.py"))
    (tmp_path / "results").mkdir()
    found = set()
    for text in ('{"a": 1}', '{"a": 2}'):
        (tmp_path / "results" / "a.json").write_text(text)
        data_digest.cache_clear()
        found.add(data_digest())
    data_digest.cache_clear()
    assert len(found) == 2


IMPORTED = """
import importlib, json, sys
for name in sys.argv[1:]:
    for loaded in [each for each in sys.modules if each.partition(".")[0] == "dpassay"]:
        del sys.modules[loaded]
    importlib.import_module(name)
    print(json.dumps([name, [each for each in sys.modules if each.partition(".")[0] == "dpassay"]]))
"""


def test_what_importing_a_maker_of_kept_runs_loads_is_covered() -> None:
    makers = [*EXPERIMENTS.values(), audit_runs.__name__, calibration.__name__, "dpassay.judging.judge"]
    command = [sys.executable, "-c", IMPORTED, *makers]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = dict(map(json.loads, done.stdout.splitlines()))
    assert list(loaded) == makers
    for module, imported in loaded.items():
        assert set(imported) <= names(module), module


RUN = """
import sys
from dpassay.data.ratings import synthetic
from dpassay.experiments.attacks import experiment
from dpassay.experiments.request import Request
experiment._plan = lambda *_: [
    ("sketch", {"method": "jlt", "shape": "full_rank", "targets": 2, "trials": 20}),
]
experiment._tables = lambda *_: []
print(len(experiment.run(Request(synthetic(40, 30)))["runs"]))
print(*(name for name in sys.modules if name.partition(".")[0] == "dpassay"))
"""


def test_what_a_run_really_imports_is_covered() -> None:
    done = subprocess.run([sys.executable, "-c", RUN], capture_output=True, text=True, check=True)
    made, loaded = done.stdout.splitlines()
    assert int(made) == 1
    assert {"dpassay.attacks.sketch.membership", "dpassay.mechanisms.jlt"} <= set(loaded.split())
    assert set(loaded.split()) <= names(attacks.__name__)


def test_runs_of_changed_code_are_made_again(tmp_path, monkeypatch, code_changed) -> None:
    made = itertools.count(1)
    monkeypatch.setattr(attacks, "_plan", lambda *_: [("sketch", {"method": "jlt"})])
    monkeypatch.setattr(attacks, "_tables", lambda *_: [])
    monkeypatch.setattr(attacks, "_reported", lambda *_: {"methods": [{"made": next(made)}]})

    def run(**settings) -> int:
        request = Request(**{"data": synthetic(20, 10), "resume": tmp_path / "runs", **settings})
        return attacks.run(request)["runs"][0]["made"]

    assert run() == run() == 1
    assert run(seed=1) == 2
    assert run(data=synthetic(20, 11)) == 3
    with code_changed("dpassay.attacks.sketch.membership"):  # reached through a module that is imported by name
        assert run() == run() == 4
    with code_changed("dpassay.mechanisms.jlt"):
        assert run() == 5
    with code_changed("dpassay.report.html"):
        assert run() == 1
    assert run() == 1


@pytest.mark.parametrize("module", [*EXPERIMENTS.values(), audit_runs.__name__, calibration.__name__])
def test_modules_that_import_by_name_are_known(module: str) -> None:
    """Names that are put together while the program runs are not seen: these modules have none, or none that matters.

    `dpassay.core.claims` imports the decider of a claim, which whoever keeps verdicts names; `extras` a library.
    """
    known = {"dpassay.core.claims", "dpassay.core.extras", "dpassay.core.registry", attacks.__name__, code.__name__}
    packages = {"dpassay", "dpassay.experiments", "dpassay.benchmarks"}  # only their tops are run
    reached = {name for name in names(module) if name.partition(".")[0] == "dpassay"}
    by_name = {name for name in reached if any(each in (code.source(name) or b"") for each in code._BY_NAME)}
    assert by_name <= known | packages
