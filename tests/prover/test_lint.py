"""Hints point at what they name, stay silent on what is right, and never become verdicts."""

import json
from pathlib import Path

import jsonschema
import pytest

from dpassay.benchmarks.prove_programs import PROGRAMS
from dpassay.commands.main import main
from dpassay.core.errors import InvalidInput
from dpassay.prover.hints import RULES
from dpassay.prover.lint import lint, lint_text
from dpassay.report.sarif import hints_to_sarif

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "tests/report/sarif-schema-2.1.0.json").read_text(encoding="utf-8"))
SOUND = """
import numpy as np
def release(rng, values, epsilon, bound):
    return np.clip(values, 0, bound).sum() + rng.laplace(0, bound / epsilon)
"""


def rules(text: str) -> set[str]:
    return {hint.rule for hint in lint_text(text)}


def function(*lines: str, takes: str = "rng, values, epsilon") -> str:
    body = "\n    ".join(lines)
    return f"import numpy as np, math, random, functools\ndef release({takes}):\n    {body}\n"


# What a rule finds, and beside it the same thing done well.
CASES = [
    (
        "fixed-seed",
        function("rng = np.random.default_rng(0)", "return sum(values) + rng.laplace(0, 1 / epsilon)"),
        function("rng = np.random.default_rng()", "return sum(values) + rng.laplace()", takes="values, epsilon"),
    ),
    (
        "fixed-seed",
        "import numpy as np\nrng = np.random.default_rng(5)\ndef f(values):\n    return sum(values) + rng.laplace()\n",
        "import numpy as np\nrng = np.random.default_rng()\ndef f(values):\n    return sum(values) + rng.laplace()\n",
    ),
    (
        "noise-drawn-once",
        function("return sum(values) + noise", takes="rng, values, noise=np.random.default_rng().laplace()"),
        function("return sum(values) + noise", takes="rng, values, noise=3"),
    ),
    (
        "noise-drawn-once",
        "import numpy as np\nNOISE = np.random.laplace()\ndef f(values):\n    return sum(values) + NOISE\n",
        "import numpy as np\nNOISE = 2.0\ndef f(values):\n    return sum(values) + np.random.laplace(0, NOISE)\n",
    ),
    (
        "noise-drawn-once",
        "import functools\n@functools.lru_cache\ndef noise(rng, scale):\n    return rng.laplace(0, scale)\n",
        "import functools\n@functools.wraps(int)\ndef noise(rng, scale):\n    return rng.laplace(0, scale)\n",
    ),
    (
        "domain-from-data",
        function("low, high = min(values), max(values)", "return np.clip(values, low, high).sum() + rng.laplace()"),
        function("return np.clip(values, 0, 1).sum() + rng.laplace(0, 1 / epsilon)"),
    ),
    (
        "domain-from-data",
        function("answers = []", "for v in set(values):", "    answers.append(rng.laplace())", "return answers"),
        function("answers = []", "for v in range(9):", "    answers.append(rng.laplace())", "return answers"),
    ),
    (
        "domain-from-data",
        function("counts, _ = np.histogram(values)", "return counts + rng.laplace(size=10)"),
        function("counts, _ = np.histogram(values, bins=[0, 1, 2])", "return counts + rng.laplace(size=2)"),
    ),
    (
        "domain-from-data",
        function("return sum(values) + rng.laplace(0, (max(values) - min(values)) / epsilon)"),
        function("return sum(max(value, 0) for value in values) + rng.laplace(0, 1 / epsilon)"),
    ),
    (
        "length-released",
        function("return sum(values) + rng.laplace(), len(values)"),
        function("return sum(values) + rng.laplace(), len(values) + rng.laplace()"),
    ),
    (
        "length-released",
        function("noisy = sum(values) + rng.laplace()", "return noisy / len(values)"),
        function("noisy = sum(values) + rng.laplace()", "return noisy / 7"),
    ),
    (
        "raw-value-released",
        function("best = np.argmax(values + rng.laplace(size=3))", "return best, values[best]"),
        function("best = np.argmax(values + rng.laplace(size=3))", "return best"),
    ),
    (
        "raw-value-released",
        function("out = []", "for v in values:", "    n = v + rng.laplace()", "    out.append(v)", "return out"),
        function("out = []", "for v in values:", "    n = v + rng.laplace()", "    out.append(n)", "return out"),
    ),
    (
        "generator-not-passed",
        function("return sum(values) + np.random.laplace(0, 1 / epsilon)"),
        function("return sum(values) + rng.laplace(0, 1 / epsilon)"),
    ),
    (
        "generator-not-passed",
        "def noise(rng, scale):\n    return rng.laplace(0, scale)\n"
        "def release(rng, values):\n    return sum(values) + noise(None, 1)\n",
        "def noise(rng, scale):\n    return rng.laplace(0, scale)\n"
        "def release(rng, values):\n    return sum(values) + noise(rng, 1)\n",
    ),
    (
        "generator-not-passed",
        "def noise(rng, scale):\n    return rng.laplace(0, scale)\n"
        "def release(rng, values, other):\n    one, two = other.spawn(2)\n    return sum(values) + noise(two, 1)\n",
        "def noise(rng, scale):\n    return rng.laplace(0, scale)\n"
        "def release(rng, values):\n    one, two = rng.spawn(2)\n    (inner,) = two.spawn(1)\n"
        "    return sum(values) + noise(inner, 1)\n",
    ),
    (
        "private-condition",
        function("total = sum(values)", "if total > 9:", "    return 9 + rng.laplace()", "return rng.laplace()"),
        function("total = sum(values) + rng.laplace()", "if total > 9:", "    return 9", "return rng.laplace()"),
    ),
    (
        "private-condition",
        function("return rng.laplace(0, 1 + abs(values[0]))"),
        function("return rng.laplace(values[0], 1 / epsilon)"),
    ),
    (
        "private-condition",
        function("return sum(values) + (rng.laplace() if values[0] > 0 else rng.laplace(0, 2))"),
        function("return sum(values) + (rng.laplace() if epsilon > 1 else rng.laplace(0, 2))"),
    ),
    (
        "gaussian-above-one",
        function(
            "sigma = math.sqrt(2 * math.log(1.25 / delta)) / epsilon", "return sum(values) + rng.normal(0, sigma)",
            takes="rng, values, delta, epsilon=2.0",
        ),
        function(
            "sigma = math.sqrt(2 * math.log(1.25 / delta)) / epsilon", "return sum(values) + rng.normal(0, sigma)",
            takes="rng, values, delta, epsilon=0.5",
        ),
    ),
    (
        "gaussian-above-one",
        "from math import log, sqrt\ndef sigma(epsilon, delta):\n    return sqrt(2 * log(1.25 / delta)) / epsilon\n"
        "scale = sigma(epsilon=4, delta=1e-5)\n",
        "from math import log, sqrt\ndef sigma(epsilon, delta):\n    return sqrt(2 * log(1.25 / delta)) / epsilon\n"
        "scale = sigma(epsilon=1, delta=1e-5)\n",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "bad", "good"), CASES)
def test_a_rule_finds_what_it_names_and_nothing_where_it_is_done_well(rule, bad, good):
    assert rule in rules(bad)
    assert rules(good) == set()


def test_every_rule_has_a_case():
    assert {rule for rule, *_ in CASES} == set(RULES)


def test_a_hint_says_where_what_and_how_to_mend_it():
    (hint,) = lint_text(function("return sum(values) + rng.laplace(), len(values)"), "mine.py")
    assert (hint.file, hint.line, hint.function, hint.code) == ("mine.py", 3, "release", "len(values)")
    assert "replace_one" in hint.message
    assert hint.to_json()["kind"] == "hint"
    relation = '@dp.mechanism_function(relation="replace_one:entry", epsilon="epsilon")\n'
    stated = function("return sum(values) + rng.laplace(), len(values)").replace(
        "def release", relation + "def release"
    )
    assert lint_text(stated) == []


def test_a_coin_hides_what_it_chooses_and_a_noisy_comparison_of_data_does_not():
    coin = function("if rng.random() < 0.9:", "    return values[0]", "return 1 - values[0]")
    assert rules(coin) == {"raw-value-released"}  # the second return is no longer under the coin
    assert rules(coin.replace("    return 1", "    else:\n        return 1")) == set()
    above = function("if values[0] + rng.laplace() > 0:", "    return values[0]", "return None")
    assert rules(above) == {"raw-value-released"}


def test_programs_that_hold_get_no_hints_but_on_their_length():
    names = {program.name for program in PROGRAMS if program.outcome == "holds"}
    hints, files = lint("dpassay.benchmarks.prove_programs")
    assert files > 8
    of_sound = [hint for hint in hints if hint.function in names and "traps" not in hint.file]
    assert {hint.rule for hint in of_sound} == {"length-released"}
    assert len({hint.function for hint in of_sound}) <= 6


@pytest.mark.parametrize("area", ["attacks", "auditors", "mechanisms", "proofs", "src/dpassay", "examples"])
def test_our_own_code_gets_none(area, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert [hint for hint in lint(area)[0] if "/benchmarks/" not in hint.file] == []


def test_the_module_is_not_run(tmp_path, monkeypatch):
    package = tmp_path / "burnt"
    package.mkdir()
    for name in ("__init__.py", "release.py"):
        (package / name).write_text("raise SystemExit('run')\n" + SOUND)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert lint("burnt.release") == ([], 1)
    assert lint("burnt") == ([], 2)
    assert lint(str(package / "release.py")) == ([], 1)


@pytest.mark.parametrize("target", ["no.such.module", "math", "/nowhere.py", "sys"])
def test_what_has_no_source_gets_one_line(target):
    with pytest.raises(InvalidInput, match="name a module, a file or a folder"):
        lint(target)


@pytest.mark.parametrize("text", ["def (", "x = '\0'", "(" * 5000])
def test_what_is_not_python_gets_one_line(text):
    with pytest.raises(InvalidInput, match=r"mine.py:\d+: this is not Python .*mend it"):
        lint_text(text, "mine.py")


def test_what_is_nested_too_deeply_gets_one_line():
    with pytest.raises(InvalidInput, match=r"mine\.py:1: "):
        lint_text("x = rng" + ".a()" * 5000, "mine.py")


def test_the_command_prints_hints_writes_them_and_exits_with_zero(tmp_path, capsys):
    file = tmp_path / "release.py"
    file.write_text(CASES[0][1])
    log, numbers = tmp_path / "hints.sarif", tmp_path / "hints.json"
    assert main(["lint", str(file), "--json", str(numbers), "--sarif", str(log)]) == 0
    said = capsys.readouterr().out
    assert f"{file}:3: fixed-seed in release:" in said
    assert "1 hint, no verdict; 1 file read, none run" in said
    (hint,) = json.loads(numbers.read_text())["hints"]
    assert (hint["line"], hint["rule"]) == (3, "fixed-seed")
    written = json.loads(log.read_text())
    jsonschema.Draft4Validator(SCHEMA).validate(written)
    (result,) = written["runs"][0]["results"]
    assert result["level"] == "note"
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 3
    assert {rule["defaultConfiguration"]["level"] for rule in written["runs"][0]["tool"]["driver"]["rules"]} == {"note"}


def test_the_command_refuses_what_is_no_python_with_two(tmp_path, capsys):
    (tmp_path / "broken.py").write_text("def (")
    assert main(["lint", str(tmp_path / "broken.py")]) == 2
    assert main(["lint", str(tmp_path / "absent.py")]) == 2
    assert capsys.readouterr().err.count("\n") == 2


def test_the_fingerprint_of_a_hint_stays_when_lines_move():
    def prints(text):
        log = hints_to_sarif([hint.to_json() for hint in lint_text(text, "a.py")], RULES, "dpassay 0", "")
        return [result["partialFingerprints"] for result in log["runs"][0]["results"]]

    assert prints(CASES[0][1]) == prints("\n\n" + CASES[0][1]) != prints(CASES[1][1])
