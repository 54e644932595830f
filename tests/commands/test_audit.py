"""`dpassay audit` and black-box `search`: exit codes, files, and one clear line for whatever cannot be used."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from dpassay.commands.main import main
from dpassay.core.errors import InvalidInput
from dpassay.report.schema import validate_audits

MODULE = """
import jax
import numpy as np

def broken(rng, data):  # one entry moves the sum by 2, the noise is made for 1
    return float(np.sum(data)) + rng.laplace(scale=1.0)

def sound(rng, data):
    return float(np.sum(data)) + rng.laplace(scale=4.0)

def in_batches(rng, data, num_samples):
    return np.sum(data) + rng.laplace(scale=1.0, size=num_samples)

def words(rng, data):
    return "high" if rng.random() < (0.9 if np.sum(data) > 8 else 0.1) else "low"

class Release:
    def __init__(self, scale=1.0):
        if scale <= 0:
            raise ValueError("no noise")
        self.scale = scale
    def sample(self, key, data):
        return data.sum() + self.scale * jax.random.laplace(key)

class Needy:
    def __init__(self, scale):
        pass

def income(rng, table):  # claims 1 for incomes up to 1
    return float(table["income"].sum()) + rng.laplace(scale=1.0)

release = Release()
number = 3
def raises(rng, data):
    raise KeyError("boom")
def bare(rng, data):
    return float(np.sum(data))
"""
NAME = "mine_to_audit"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / f"{NAME}.py").write_text(MODULE)
    (tmp_path / "a.json").write_text("[5, 4]")
    (tmp_path / "b.json").write_text("[5, 2]")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop(NAME, None)


def run(capsys: Any, *arguments: Any) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def audit(capsys: Any, name: str, *arguments: Any) -> tuple[int, str, str]:
    files = ("--dataset1", "a.json", "--dataset2", "b.json")
    return run(capsys, "audit", f"{NAME}:{name}", *files, *arguments)


def refused(capsys: Any, name: str, *arguments: Any) -> str:
    code, out, err = audit(capsys, name, *arguments)
    assert code == 2, out
    lines = [line for line in err.splitlines() if line.startswith("dpassay: ")]
    assert len(lines) == 1, err
    assert "Traceback" not in err
    assert "error of its own" not in err
    return lines[0]


CLAIM = ("--epsilon", 1, "--num-samples", 2500)


def test_a_broken_mechanism_exits_1_and_every_file_has_the_same_numbers(capsys, folder):
    arguments = [part for kind in ("json", "sarif", "junit", "html") for part in (f"--{kind}", f"out.{kind}")]
    code, out, err = audit(capsys, "broken", *CLAIM, "--seed", 3, *arguments)
    assert code == 1, err
    assert "REFUTED" in out
    content = json.loads(Path("out.json").read_text())
    assert validate_audits(content) == [content]
    assert content["verdict"]["outcome"] == "refuted"
    assert 1 < content["epsilon_lower"] <= 2
    assert content["seed"] == 3
    line = MODULE.splitlines().index("def broken(rng, data):  # one entry moves the sum by 2, the noise is made for 1")
    assert content["location"] == {"file": f"{NAME}.py", "line": line + 1}
    assert content["command"] == " ".join(
        ["dpassay", "audit", f"{NAME}:broken", "--dataset1", "a.json", "--dataset2", "b.json"]
        + [str(part) for part in (*CLAIM, "--seed", 3, *arguments)]
    )
    (result,) = json.loads(Path("out.sarif").read_text())["runs"][0]["results"]
    assert all(content[key] == value for key, value in result["properties"].items())
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == f"{NAME}.py"
    properties = ET.parse("out.junit").getroot().iter("property")
    assert {"name": "epsilon_lower", "value": str(content["epsilon_lower"])} in [one.attrib for one in properties]
    page = Path("out.html").read_text()
    assert f"{content['events'][0]['count1']:,} of {content['events'][0]['samples1']:,}" in page


def test_a_sound_mechanism_exits_0_and_is_not_called_private(capsys, folder):
    code, out, _ = audit(capsys, "sound", *CLAIM, "--json", "out.json", "--sarif", "out.sarif", "--junit", "out.xml")
    assert code == 0
    assert "NOT REFUTED" in out
    assert "This does not show the mechanism private." in " ".join(out.split())
    assert json.loads(Path("out.json").read_text())["epsilon_lower"] <= 0.5
    assert json.loads(Path("out.sarif").read_text())["runs"][0]["results"] == []
    assert ET.parse("out.xml").getroot().find(".//failure") is None


def test_equal_seeds_give_equal_audits_and_strings_are_outputs_too(capsys, folder):
    found = []
    for _ in range(2):
        code, _, _ = audit(capsys, "words", *CLAIM, "--json", "out.json")
        assert code == 1
        found.append({**json.loads(Path("out.json").read_text()), "seconds": 0})
    assert found[0] == found[1]


@pytest.mark.parametrize("arguments", [("Release",), ("release",), ("in_batches", "--batched")])
def test_classes_instances_and_batches_are_audited(capsys, folder, arguments):
    code, _, err = audit(capsys, *arguments, *CLAIM)
    assert code == 1, err


def test_a_class_takes_parameters(capsys, folder):
    code, _, err = audit(capsys, "Release", "--parameter", "scale=4.0", *CLAIM)
    assert code == 0, err
    assert "no noise" in refused(capsys, "Release", "--parameter", "scale=0", *CLAIM)
    assert "--parameter" in refused(capsys, "Needy", *CLAIM)
    assert "--parameter" in refused(capsys, "broken", "--parameter", "scale=1", *CLAIM)


def test_a_registered_mechanism_is_audited(capsys, folder):
    Path("a.json").write_text("[5]")
    Path("b.json").write_text("[1]")
    common = ("audit", "randomized_response", "--dataset1", "a.json", "--dataset2", "b.json", "--num-samples", 2500)
    for epsilon, expected in ((1, 1), (3, 0)):
        code, _, err = run(capsys, *common, "--parameter", "epsilon=2.0", "--epsilon", epsilon)
        assert code == expected, err


def test_a_relation_is_checked(capsys, folder):
    before = np.array([[5.0, 3, 1], [4, 2, 5]])
    after = before + np.array([[0, 0, 0], [0, 0, -2]])
    other = after + np.array([[1, 0, 0], [0, 0, 0]])
    for name, matrix in {"x": before, "y": after, "z": other}.items():
        np.save(f"{name}.npy", matrix)
    common = ("audit", f"{NAME}:sound", *CLAIM, "--relation", "replace_one:rating", "--dataset1", "x.npy")
    code, out, err = run(capsys, *common, "--dataset2", "y.npy", "--json", "out.json")
    assert code == 0, err
    assert "Only this pair" not in out
    assert json.loads(Path("out.json").read_text())["relation"] == "replace_one:rating"
    code, _, err = run(capsys, *common, "--dataset2", "z.npy")
    assert code == 2
    assert "differ in 2 cells" in err


def test_a_certificate_replays_and_a_damaged_one_does_not(capsys, folder):
    code, _, err = audit(capsys, "broken", *CLAIM, "--certificate", "c.json")
    assert code == 1, err
    code, out, _ = run(capsys, "replay", "c.json")
    assert code == 0, out
    from dpassay.core.certificate import checksum

    damaged = json.loads(Path("c.json").read_text().replace('"refuted"', '"not refuted"'))
    damaged["sha256"] = checksum(damaged)
    Path("c.json").write_text(json.dumps(damaged))
    assert run(capsys, "replay", "c.json")[0] == 1


def test_the_same_stream_shows_sensitivity_and_missing_noise(capsys, folder):
    code, out, _ = audit(capsys, "broken", "--same-stream", "--sensitivity", 1, "--json", "s.json", "--html", "s.html")
    assert code == 1
    assert "the declared sensitivity is 1" in " ".join(out.split())
    content = json.loads(Path("s.json").read_text())
    assert (content["mode"], content["parameter_lower"]) == ("same-stream", 2.0)
    code, out, _ = audit(capsys, "bare", "--same-stream", "--sarif", "s.sarif", "--junit", "s.xml")
    assert code == 1
    assert "carries no noise" in " ".join(out.split())
    (result,) = json.loads(Path("s.sarif").read_text())["runs"][0]["results"]
    assert result["ruleId"] == "same-stream-leak"
    code, out, _ = audit(capsys, "sound", "--same-stream", "--epsilon", 1)
    assert code == 0
    assert "This does not show the mechanism private." in " ".join(out.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--epsilon", -1), "epsilon is -1.0"),
        (("--epsilon", "nan"), "epsilon is nan"),
        (("--epsilon", 1, "--delta", 1), "delta is 1.0"),
        (("--epsilon", 1, "--delta", -0.1), "delta is -0.1"),
        ((), "no claim is given; give one of --epsilon"),
        (("--delta", 0.1), "no claim is given"),
        (("--epsilon", 1, "--gaussian", 1), "--epsilon and --gaussian are different claims"),
        (("--gaussian", 1, "--delta", 0.1), "--delta goes with --epsilon"),
        (("--gaussian", -1), "mu is -1.0"),
        (("--renyi", "2"), "--renyi '2': write ORDER:EPS"),
        (("--curve", "1"), "--curve '1': write EPS:DELTA"),
        (("--epsilon", 1, "--relation", "swap:rating"), "relation kind 'swap'"),
        (("--epsilon", 1, "--num-samples", 0), "num_samples is 0"),
        (("--epsilon", 1, "--time-limit", 0), "time_limit is 0"),
        (("--epsilon", 1, "--failure-probability", 0), "failure_probability is 0"),
        (("--epsilon", 1, "--failure-probability", 1), "failure_probability is 1"),
        (("--epsilon", 1, "--representation", "words"), "representation"),
        (("--epsilon", 1, "--json", "no/such/folder.json"), "no folder"),
        (("--epsilon", 1, "--ledger", "."), "it is a folder"),
        (("--epsilon", 1, "--sensitivity", 1), "--sensitivity goes with --same-stream"),
        (("--same-stream", "--num-samples", 10), "--num-samples does not go with --same-stream"),
        (("--same-stream", "--sensitivity", -1), "sensitivity is -1.0"),
        (("--epsilon", 1, "--variant", "paper"), "--variant is for a registered mechanism"),
        (("--epsilon", 1, "--dataset2", "absent.json"), "no file absent.json"),
        (("--epsilon", 1, "--dataset1", "[0, 1]"), "no file [0, 1]; give a file that holds the dataset: .npy"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(capsys, folder, arguments, message):
    assert message in refused(capsys, "sound", *arguments)


def test_bad_targets_are_refused_in_one_line(capsys, folder):
    assert "has no absent" in refused(capsys, "absent", *CLAIM)
    assert "is a int" in refused(capsys, "number", *CLAIM)
    assert "--batched is for a callable" in refused(capsys, "release", "--batched", *CLAIM)
    assert "KeyError: 'boom'" in refused(capsys, "raises", *CLAIM)
    assert "3 were given" in refused(capsys, "sound", "--batched", *CLAIM)


def test_an_interruption_exits_3_and_says_what_is_kept(capsys, folder, monkeypatch):
    import dpassay.auditors.audit

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(dpassay.auditors.audit, "run_audit", interrupted)
    code, _, err = audit(capsys, "sound", *CLAIM, "--ledger", "l.sqlite")
    assert code == 3
    assert "interrupted; the evidence so far is in l.sqlite" in err


def test_an_error_of_our_own_is_no_finding(capsys, folder, monkeypatch):
    import dpassay.auditors.audit

    def failing(*args, **kwargs):
        raise RuntimeError("a bug\nin two lines")

    monkeypatch.setattr(dpassay.auditors.audit, "run_audit", failing)
    code, _, err = audit(capsys, "sound", *CLAIM)
    assert code == 2
    assert "stopped by an error of its own (RuntimeError: a bug in two lines)" in err
    monkeypatch.setenv("DPASSAY_TRACEBACK", "1")
    with pytest.raises(RuntimeError, match="a bug"):
        audit(capsys, "sound", *CLAIM)


def test_the_mechanisms_own_traceback_is_shown_on_request(capsys, folder, monkeypatch):
    import dpassay.auditors.audit

    def failing(*args, **kwargs):
        raise InvalidInput("the sampler raises") from KeyError("its own")

    monkeypatch.setattr(dpassay.auditors.audit, "run_audit", failing)
    assert audit(capsys, "sound", *CLAIM)[2].endswith("dpassay: the sampler raises\n")
    assert "KeyError" not in audit(capsys, "sound", *CLAIM)[2]
    monkeypatch.setenv("DPASSAY_TRACEBACK", "1")
    code, _, err = audit(capsys, "sound", *CLAIM)
    assert code == 2
    assert err.endswith("KeyError: 'its own'\ndpassay: the sampler raises\n")


def test_what_cannot_be_sampled_exactly_is_searched_as_a_black_box(capsys, folder, monkeypatch):
    import dpassay.auditors.neighbor_search

    calls = []

    def nothing(mechanism, relation, **options):
        calls.append((relation, options["failure_probability"], options["claim"].epsilon))

    monkeypatch.setattr(dpassay.auditors.neighbor_search, "search_black_box", nothing)
    common = ("--epsilon", 1, "--failure-probability", 0.01)
    code, out, _ = run(capsys, "search", f"{NAME}:sound", "--relation", "vector:one", *common)
    assert code == 0
    assert "does not show the mechanism private" in out
    run(capsys, "search", "ppns", "--relation", "replace_one:rating", "--black-box", *common)
    assert calls == [("vector:one", 0.01, 1.0), ("replace_one:rating", 0.01, 1.0)]


def test_help_of_audit_needs_no_jax():
    code = (
        "import sys; from dpassay.commands.main import main; main(['audit', '--help']); assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_bench_writes_its_tables_as_json_and_markdown(capsys, folder, monkeypatch):
    import dpassay.benchmarks

    result = {"benchmark": "x", "tables": [{"title": "Speed", "columns": ["task", "s"], "rows": [["a|b", 1.5]]}]}
    given = {}
    monkeypatch.setattr(dpassay.benchmarks, "run", lambda name, **options: given.update(options) or result)
    code, _, _ = run(capsys, "bench", "x", "--output", "t.json", "--resume", "kept.json")
    assert code == 0
    assert json.loads(Path("t.json").read_text()) == result
    assert "| a\\|b | 1.5 |" in Path("t.md").read_text()
    assert given["resume"] == Path("kept.json")
    run(capsys, "bench", "x", "--output", "u.md")
    assert json.loads(Path("u.json").read_text()) == result


def test_a_table_reaches_the_mechanism_and_a_line_says_so(capsys, folder):
    (folder / "a.csv").write_text("age,income,city\n30,1,ulm\n41,5.5,bonn\n")
    (folder / "b.csv").write_text("age,income,city\n30,1,ulm\n")
    files = ("--dataset1", "a.csv", "--dataset2", "b.csv")
    code, _, err = run(capsys, "audit", f"{NAME}:income", *files, *CLAIM, "--ledger", "ledger.db")
    assert code == 1, err
    assert "a.csv: read as a table of 2 rows: age (int64), income (float64), city (" in err
    assert "b.csv: read as a table of 1 rows" in err
    assert "error of its own" not in err
    for options, message in (
        (("--format", "ratings"), "columns are age, income, city"),
        (("--duplicates", "mean"), "a.csv is a table"),
        (("--scale", "5"), "write LOW:HIGH"),
        (("--relation", "replace_one:rating"), "leave the relation out"),
    ):
        code, _, err = run(capsys, "audit", f"{NAME}:income", *files, *CLAIM, *options)
        assert code == 2
        assert message in err
    code, _, err = run(
        capsys, "search", f"{NAME}:income", "--start", "a.csv", "--relation", "replace_one:entry", "--epsilon", 1
    )
    assert code == 2
    assert "a.csv is a table" in err


def test_pandas_is_asked_for_in_one_line(capsys, folder, monkeypatch):
    (folder / "a.csv").write_text("age,income\n30,1\n41,5.5\n")
    monkeypatch.setitem(sys.modules, "pandas", None)
    code, _, err = run(capsys, "audit", f"{NAME}:income", "--dataset1", "a.csv", "--dataset2", "a.csv", *CLAIM)
    assert code == 2
    assert err.startswith("dpassay: pandas ")


def test_ratings_are_read_as_the_options_say(capsys, folder):
    (folder / "a.csv").write_text("user,item,rating\n1,1,0.5\n1,1,3.5\n")
    (folder / "b.csv").write_text("user,item,rating\n1,1,4.0\n")
    files = ("--dataset1", "a.csv", "--dataset2", "b.csv", "--scale", "0.5:5", "--duplicates", "mean")
    code, _, err = run(capsys, "audit", f"{NAME}:broken", *files, *CLAIM)
    assert code == 1, err
    assert "a.csv: read as ratings: 1, in a matrix (users, items) of shape (1, 1); 1 ratings repeat a pair" in err
