"""The command line: exit codes, one clear line for bad input, nothing written half."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dpassay.commands.main import main


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def refused(capsys, *arguments):
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert err.startswith("dpassay: ")
    assert err.count("\n") == 1, err
    assert "Traceback" not in err
    return err


@pytest.mark.parametrize("command", [[], ["verify"], ["replay"], ["search"], ["experiment"]])
def test_help(capsys, command):
    code, out, _ = run(capsys, *command, "--help")
    assert code == 0
    assert "Usage" in out


@pytest.mark.parametrize("command", [["verify"], ["audit"], ["experiment"], ["attack", "sketch"]])
def test_addresses_in_help_are_whole_and_lead_to_a_page(capsys, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = run(capsys, *command, "--help")
    found = re.findall(r"https://(\S+)", out)
    assert found
    for address in found:
        path = address.removeprefix("github.com/dpassay/dpassay/blob/main/")
        assert (Path(__file__).parents[2] / path).is_file()


def test_help_needs_no_jax():
    code = "import sys; from dpassay.commands.main import main; main(['--help']); assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_bad_arguments_are_refused_in_one_line(capsys, tmp_path):
    assert "did you mean PP-EX" in refused(capsys, "verify", "--claim", "PP-X")
    refused(capsys, "verify", "--claim", "PP-NONE")
    refused(capsys, "verify", "--paper", "nonsense")
    refused(capsys, "verify", "--nonsense")
    refused(capsys, "nonsense")
    refused(capsys, "replay")
    refused(capsys, "replay", tmp_path / "absent.json")
    refused(capsys, "verify", "--claim", "PP-EX", "--json", tmp_path / "no" / "folder.json")
    refused(capsys, "verify", "--claim", "PP-EX", "--json", tmp_path)
    refused(capsys, "experiment", "nonsense")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("absent.csv", None, "absent.csv"),
        ("two.csv", "1,2\n3,4\n", "column"),
        ("scale.csv", "user,item,rating\n1,1,3\n1,2,9\n", "scale"),
        ("twice.csv", "user,item,rating\n1,1,3\n1,1,4\n", "rated item"),
        ("nan.csv", "user,item,rating\n1,1,3\n1,2,nan\n", "number"),
        ("empty.csv", "", "empty"),
    ],
)
def test_bad_data_is_refused_and_nothing_is_written(capsys, tmp_path, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    target = tmp_path / "out.json"
    err = refused(capsys, "verify", "--claim", "PP-EX", "--data", path, "--json", target)
    assert message in err
    assert not target.exists()


MODULE = """
import dpassay as dp
selection = dp.mechanism("ppns", num_neighbors=2, probability=0.5, epsilon=1.0)
private = dp.mechanism("npns", variant="repaired", num_neighbors=1, epsilon=1.0)
not_a_mechanism = 3
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "mine_to_search.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield "mine_to_search"
    sys.modules.pop("mine_to_search", None)


def test_search_finds_a_witness_and_exits_1(capsys, tmp_path, module):
    path = tmp_path / "witness.json"
    code, out, _ = run(
        capsys,
        "search",
        f"{module}:selection",
        "--relation",
        "add_or_remove_one:rating",
        "--epsilon",
        1,
        "--json",
        path,
    )
    assert code == 1
    assert "->" in out
    assert "impossible" in out
    assert json.loads(path.read_text())["epsilon"] == "inf"


def test_search_without_a_witness_exits_0_and_promises_nothing(capsys, module):
    code, out, _ = run(
        capsys, "search", f"{module}:private", "--relation", "replace_one:rating", "--epsilon", 1, "--time-limit", 3
    )
    assert code == 0
    assert "does not show the mechanism private" in out


def test_bad_search_arguments_are_refused(capsys, tmp_path, module):
    relation = ("--relation", "replace_one:rating")
    refused(capsys, "search", f"{module}:selection", *relation, "--epsilon", -1)
    refused(capsys, "search", f"{module}:selection", *relation, "--epsilon", "nan")
    refused(capsys, "search", f"{module}:selection", *relation, "--epsilon", 1, "--delta", 1)
    refused(capsys, "search", f"{module}:selection", "--relation", "swap:rating", "--epsilon", 1)
    refused(capsys, "search", f"{module}:absent", *relation, "--epsilon", 1)
    refused(capsys, "search", f"{module}:not_a_mechanism", *relation, "--epsilon", 1)
    refused(capsys, "search", "no_such_module:x", *relation, "--epsilon", 1)
    refused(capsys, "search", "nonsense", *relation, "--epsilon", 1)
    refused(capsys, "search", "nonsense:", *relation, "--epsilon", 1)
    refused(capsys, "search", f"{module}:selection", *relation, "--epsilon", 1, "--time-limit", 0)
    refused(capsys, "search", f"{module}:selection", *relation, "--epsilon", 1, "--start", tmp_path / "absent.npy")


@pytest.mark.parametrize(
    "parameter",
    [
        "probability=0",
        "probability=1.5",
        "probability=nan",
        "epsilon=0",
        "epsilon=-1",
        "num_neighbors=0",
        "num_neighbors=9",  # more than there are candidates
        "similarity=nonsense",
        "ties=nonsense",
        "target=7",
        "nonsense=1",
        "nonsense",
    ],
)
def test_bad_mechanism_parameters_are_refused(capsys, tmp_path, parameter):
    path = tmp_path / "w.json"
    common = ("--relation", "replace_one:rating", "--epsilon", 1, "--json", path)
    refused(capsys, "search", "ppns", "--parameter", parameter, *common)
    assert not path.exists()


def test_target_without_corated_items_is_refused(capsys, tmp_path):
    path = tmp_path / "start.npy"
    np.save(path, np.array([[5.0, np.nan], [np.nan, 2], [np.nan, 4], [np.nan, 1]]))
    refused(
        capsys, "search", "ppns", "--parameter", "no_overlap=exclude", "--start", path,
        "--relation", "replace_one:rating", "--epsilon", 1,
    )  # fmt: skip


def test_search_starts_from_given_ratings(capsys, tmp_path, module):
    path = tmp_path / "start.npy"
    np.save(path, np.array([[5.0, 3], [4, 2], [1, 5], [2, 2]]))
    code, _, _ = run(
        capsys, "search", f"{module}:selection", "--relation", "replace_one:rating", "--epsilon", 1, "--start", path
    )
    assert code == 1


def test_verify_writes_json_report_and_certificates_that_replay(capsys, tmp_path):
    json_path, html_path, folder = tmp_path / "v.json", tmp_path / "v.html", tmp_path / "certificates"
    claims = [argument for name in ("PP-EX", "PP-CHEB", "DP-SUM") for argument in ("--claim", name)]
    code, out, err = run(
        capsys, "verify", "--quick", *claims, "--json", json_path, "--html", html_path, "--certificates", folder
    )
    assert code == 0, out + err
    content = json.loads(json_path.read_text())
    assert {verdict["id"] for verdict in content["verdicts"]} == {"PP-EX", "PP-CHEB", "DP-SUM"}
    assert html_path.read_text().lower().startswith("<!doctype html>")
    files = sorted(folder.iterdir())
    assert files
    code, out, _ = run(capsys, "replay", *files)
    assert code == 0
    assert f"{len(files)} of {len(files)} certificates check" in out
    damaged = json.loads(files[0].read_text())
    damaged["claim"] = "XM-T1"
    from dpassay.core.certificate import checksum

    damaged["sha256"] = checksum(damaged)
    files[0].write_text(json.dumps(damaged))
    code, out, _ = run(capsys, "replay", files[0])
    assert code == 1
    assert "FAILS" in out


def test_interrupt_exits_3(capsys, monkeypatch):
    import dpassay.judging.verification

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(dpassay.judging.verification, "run", interrupted)
    code, _, err = run(capsys, "verify", "--claim", "PP-EX")
    assert code == 3
    assert "interrupted" in err


def test_an_end_of_file_is_no_interrupt(capsys, monkeypatch):
    """Python raises it of compiled modules that a full disk cut off."""
    import dpassay.judging.verification

    def cut_off(*args, **kwargs):
        raise EOFError("marshal data too short")

    monkeypatch.setattr(dpassay.judging.verification, "run", cut_off)
    code, _, err = run(capsys, "verify", "--claim", "PP-EX")
    assert code == 2
    assert "an error of its own (EOFError: marshal data too short)" in err


@pytest.mark.parametrize("option", ["--data", "--json"])
def test_a_path_that_the_system_cannot_look_up_is_refused(capsys, option):
    code, _, err = run(capsys, "attack", "sketch", option, "9" * 5000)
    assert code == 2
    assert len(err.splitlines()) == 1
    assert "name too long; give another path" in err
    assert len(err) < 300
