"""The example project, the GitHub action and the pre-commit hook, run as a user, a runner and pre-commit run them."""

import contextlib
import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from dpassay.auditors.audit import run_audit
from dpassay.core.privacy import PrivacyClaim

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "your-project"
LEDGER_RUNS = int(os.environ.get("DPASSAY_LEDGER_RUNS", "20"))  # 200 before a release


def loaded(path):
    content = yaml.safe_load(path.read_text())
    return (
        {"on" if key is True else key: value for key, value in content.items()}
        if isinstance(content, dict)
        else content
    )


ACTION = loaded(ROOT / "action.yml")
STEPS = ACTION["runs"]["steps"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The package as its wheel installs it, outside the repository; gives the environment to run with."""
    folder = tmp_path_factory.mktemp("wheel")
    skipped = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("src", "mechanisms", "auditors", "attacks", "proofs"):
        shutil.copytree(ROOT / name, folder / "source" / name, symlinks=True, ignore=skipped)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / "source")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    flags = ["--no-deps", "--no-index", "--no-build-isolation", "--no-compile"]
    subprocess.run([*pip, "install", *flags, "--target", folder / "site", folder / "source"], check=True)
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "COV_"))}
    return clean | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(folder / "site"),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # other projects' plugins take seconds
        "PYTEST_ADDOPTS": "-p dpassay.pytest_plugin",
        "SITE": str(folder / "site"),
    }


@pytest.fixture
def project(tmp_path):
    """A copy of the example project, which lies outside this repository as the user's does."""
    shutil.copytree(EXAMPLE, tmp_path / "project", ignore=shutil.ignore_patterns("__pycache__", ".*_cache", ".dpassay"))
    return tmp_path / "project"


def run_step(name, folder, environment, **inputs):
    """Runs a shell step of the action as GitHub's runner does: inputs become variables, the script a file for bash."""
    (step,) = [step for step in STEPS if step.get("name") == name]
    assert step["shell"] == "bash"
    values = {f"inputs.{key}": value.get("default", "") for key, value in ACTION["inputs"].items()}
    values |= {f"inputs.{key.replace('_', '-')}": value for key, value in inputs.items()}
    values["github.action_path"] = "/the/action"
    variables = {
        key: re.sub(r"\$\{\{ (\S+) \}\}", lambda match: values[match[1]], text) for key, text in step["env"].items()
    }
    script, output = folder.parent / "step.sh", folder.parent / "output"
    script.write_text(step["run"])
    output.touch()
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
        cwd=folder,
        env={**environment, **variables, "GITHUB_OUTPUT": str(output)},
        capture_output=True,
        text=True,
    )
    outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
    return done, outputs


def echoing_python(folder):
    """An environment whose `python` only says with what it was called."""
    stand_in = folder / "bin" / "python"
    stand_in.parent.mkdir()
    stand_in.write_text('#!/bin/sh\necho "$@"\n')
    stand_in.chmod(0o755)
    return {"PATH": f"{stand_in.parent}{os.pathsep}{os.environ['PATH']}"}


def results(folder):
    return json.loads((folder / ".dpassay/report/audits.sarif").read_text())["runs"][0]["results"]


def test_a_project_outside_the_repository_goes_red_on_the_broken_mechanism_only(project, installed):
    (project / "conftest.py").write_text(
        "import os, dpassay\ndef pytest_configure():\n    assert dpassay.__file__.startswith(os.environ['SITE'])\n"
    )
    done, outputs = run_step(
        "Audit",
        project,
        installed,
        tests="tests/test_privacy.py",
        ledger=".dpassay/ledger.db",
        arguments="--dp-num-samples=1500 -rA",
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 1 passed" in done.stdout
    assert "noisy_total is not 0.5-DP: epsilon is at least" in done.stdout
    assert re.search("test_noisy_likes_is_private .*not refuted", done.stdout)
    assert "P(any false alarm) <= 0.01 for all sessions that share ledger.db" in done.stdout
    assert (project / ".dpassay/ledger.db").is_file()
    assert outputs == {"sarif": "./.dpassay/report/audits.sarif"}
    (result,) = results(project)
    location = result["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "mechanisms/ratings.py"
    line = (project / "mechanisms/ratings.py").read_text().splitlines()[location["region"]["startLine"] - 1]
    assert line == "def noisy_total(rng, ratings):"


def test_the_action_audits_one_mechanism(project, installed):
    done, _ = run_step(
        "Audit",
        project,
        installed,
        target="mechanisms.ratings:noisy_total",
        dataset1="data/ratings.json",
        dataset2="data/without-the-last.json",
        epsilon="0.5",
        time_limit="20",  # refuted long before, on a loaded machine too
        arguments="--num-samples=2000 --seed=1",
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert len(results(project)) == 1
    assert (project / ".dpassay/report/audits.xml").is_file()


@pytest.mark.parametrize("inputs", [{}, {"tests": "tests", "target": "a:b"}])
def test_the_action_wants_either_tests_or_a_target(project, inputs):
    done, outputs = run_step("Audit", project, dict(os.environ), **inputs)
    assert (done.returncode, outputs) == (2, {})
    assert done.stdout == "::error::give either tests or target\n"


@pytest.mark.parametrize(
    ("inputs", "wanted"),
    [
        ({}, ["-m pip install --quiet /the/action pytest>=8"]),
        (
            {"dpassay_version": "1.0.0", "requirements": "requirements.txt"},
            ["-m pip install --quiet dpassay==1.0.0 pytest>=8", "-m pip install --quiet -r requirements.txt"],
        ),
    ],
)
def test_the_action_installs_what_it_is_told_to(project, inputs, wanted):
    done, _ = run_step("Install", project, echoing_python(project.parent), **inputs)
    assert done.returncode == 0
    assert done.stdout.splitlines() == wanted


def test_inputs_that_look_like_shell_code_are_not_run(project):
    environment = echoing_python(project.parent)
    code = "$(touch broke-in);touch broke-in"
    done, _ = run_step("Audit", project, environment, target=code, dataset1=code, epsilon="`touch broke-in`")
    assert f"audit {code} --dataset1={code} --dataset2= --epsilon=`touch broke-in`" in done.stdout
    done, _ = run_step("Audit", project, environment, tests="tests/*.py $(touch broke-in)", arguments=";touch broke-in")
    assert done.stdout.startswith("-m pytest tests/*.py $(touch broke-in) --dp-failure")
    assert "broke-in" not in [path.name for path in project.rglob("*")]


def test_the_action_has_the_form_that_github_asks_for():
    assert {"name", "description", "inputs", "runs"} <= set(ACTION)
    assert ACTION["runs"]["using"] == "composite"
    assert all(set(value) <= {"description", "default", "required"} for value in ACTION["inputs"].values())
    assert all(isinstance(value["description"], str) for value in ACTION["inputs"].values())
    assert all(isinstance(value.get("default", ""), str) for value in ACTION["inputs"].values())
    for step in STEPS:
        assert ("uses" in step) != ("run" in step)
        assert set(step) <= {"name", "id", "if", "uses", "with", "run", "shell", "env", "working-directory"}
        assert "run" not in step or "shell" in step  # composite actions have no default shell
        assert "${{" not in step.get("run", "")  # an input must never be pasted into a script
        assert re.fullmatch(r"[\w-]+/[\w/-]+@v\d+", step.get("uses", "a/b@v1"))
    used = re.findall(r"inputs\.([\w-]+)", yaml.safe_dump(STEPS))
    assert set(used) == set(ACTION["inputs"])


def test_the_ledger_is_saved_when_the_audit_is_red():
    restore, save = [step for step in STEPS if step.get("uses", "").startswith("actions/cache/")]
    assert save["if"].startswith("always() && ")
    assert save["with"] == {key: value for key, value in restore["with"].items() if key != "restore-keys"}
    assert restore["with"]["key"].startswith(restore["with"]["restore-keys"])
    names = [step.get("id") or step.get("uses") for step in STEPS]
    assert names.index(restore["uses"]) < names.index("audit") < names.index(save["uses"])


def test_the_example_workflow_uses_the_action_as_it_is():
    workflow = loaded(EXAMPLE / ".github/workflows/privacy.yml")
    assert {"on", "jobs", "permissions"} <= set(workflow)
    assert workflow["permissions"]["security-events"] == "write"
    for job in workflow["jobs"].values():
        assert {"runs-on", "steps"} <= set(job)
        (ours,) = [step for step in job["steps"] if "dpassay" in step["uses"]]
        assert set(ours["with"]) <= set(ACTION["inputs"])
        assert all(isinstance(value, str) for value in ours["with"].values())
        named = [ours["with"].get(key) for key in ("tests", "dataset1", "dataset2", "requirements")]
        assert all((EXAMPLE / path).is_file() for path in named if path)


def test_the_hooks_have_the_form_that_pre_commit_asks_for():
    hooks = {hook["id"]: hook for hook in loaded(ROOT / ".pre-commit-hooks.yaml")}
    assert all({"id", "name", "entry", "language"} <= set(hook) for hook in hooks.values())
    ours, local = loaded(EXAMPLE / ".pre-commit-config.yaml")["repos"]
    assert {"repo", "rev", "hooks"} == set(ours)
    assert all(hook["id"] in hooks for hook in ours["hooks"])
    assert local["repo"] == "local"
    assert all({"id", "name", "entry", "language"} <= set(hook) for hook in local["hooks"])


def test_the_example_hook_runs(project, installed):
    (hook,) = loaded(ROOT / ".pre-commit-hooks.yaml")
    arguments = loaded(project / ".pre-commit-config.yaml")["repos"][0]["hooks"][0]["args"]
    program, *first = shlex.split(hook["entry"])
    assert program == "dpassay"
    command = [sys.executable, "-m", program, *first, *arguments, "--num-samples=1500"]
    done = subprocess.run(command, cwd=project, env=installed, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not refuted" in done.stdout or "No violation" in done.stdout


@pytest.fixture(scope="module")
def imported():
    """What a session imports is forgotten after it, which compiled modules do not bear: import them before."""
    run_audit(lambda rng, data: rng.random(), 0, 1, claim=PrivacyClaim(1.0), num_samples=200, time_limit=60)


@pytest.fixture
def sessions(imported, pytester, monkeypatch):
    """Many pytest sessions in this process, on one test file; gives a function that runs one."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(name, tests, num_samples):
        pytester.makepyfile(**{name: tests})
        options = ("-q", f"--dp-num-samples={num_samples}", "--dp-ledger=ledger.db", "-p", "no:cacheprovider")
        return pytester.runpytest_inprocess("-p", "dpassay.pytest_plugin", *options)

    return run


SOUND = """
from dpassay.pytest_plugin import assert_private
from mechanisms.ratings import noisy_likes
WITH, WITHOUT = [5, 3, 4, 1, 5], [5, 3, 4, 1]

def test_sound():
    assert_private(noisy_likes, WITH, WITHOUT, epsilon=0.5)
"""


def test_runs_of_a_sound_mechanism_that_share_a_ledger_show_no_red(sessions, pytester):
    """The claim 0.5 is exact: the worst case of a sound mechanism. Fixed seeds and numbers of samples: never flaky."""
    shutil.copytree(EXAMPLE / "mechanisms", pytester.path / "mechanisms")
    pytester.makeini("[pytest]\npythonpath = .\n")
    for _ in range(LEDGER_RUNS):
        result = sessions("test_sound", SOUND, 200)
        result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["1 audit: 0 refuted, 1 not refuted"])
    with contextlib.closing(sqlite3.connect(pytester.path / "ledger.db")) as database:
        counted = database.execute("SELECT count(*), sum(samples) FROM runs").fetchone()
    assert counted == (LEDGER_RUNS, 200 * LEDGER_RUNS)


WEAK = """
from dpassay.pytest_plugin import assert_private

def release(rng, data):
    return data + rng.laplace(scale=SCALE)

def test_release():
    assert_private(release, 0, 1, epsilon=0.5)
"""


def test_evidence_adds_up_until_red_stays_red_and_forgets_the_mended_code(sessions):
    def is_red(scale):
        return "failed" in sessions("test_weak", WEAK.replace("SCALE", str(scale)), 300).parseoutcomes()

    runs = [is_red(1.0)]
    while not runs[-1] and len(runs) < 10:
        runs.append(is_red(1.0))  # twice the claim: 300 samples alone show too little
    assert 1 < len(runs) < 10
    assert all(is_red(1.0) for _ in range(3))
    assert not is_red(2.0)
    assert is_red(1.0)
