"""Alignments written by hand are accepted; what is changed in one, or in its program, is not."""

import copy
import json
import re
import sys
from pathlib import Path

import pytest

from dpassay.replay import Rejected, check, computed

sys.path.insert(0, str(Path(__file__).parent))
import alignments

sys.path.pop(0)
ACCEPTED = {name: each for name, each in vars(alignments).items() if name.isupper() and name[0] != "_"}
EXPRESSIONS = {"shifts": "shift", "coins": "flip"}
# What a change of the program's text does that leaves it private with the same alignment.
HARMLESS = {
    ("NUMERIC_SPARSE_VECTOR", "count <= c"),  # the loop ends earlier
    ("GAP_SPARSE_VECTOR", "count <= c"),
    ("SPARSE_VECTOR", "count <= c"),
    ("COUNT", "value < limit"),
    ("COUNT", "count += 0"),
    ("ADAPTIVE_SPARSE_VECTOR", "i += 0"),  # it asks the same query until the budget is spent
}
CHANGES = (
    (r"\d(?= / eps)", "0.5"),
    (r"\d(?= \* [cn] / eps)", "1"),
    (r"\(high - low\)", "(high - low - 1)"),
    (r">=", "<="),
    (r"(?<= )>(?= )", "<"),
    (r"\bbreak\b", "pass"),
    (r"\+= 1", "+= 0"),
    (r"\bmax\(", "min("),
    (r"(?<=return )\w+(?= \+)", "0 * 1"),
    (r"math.exp\(-?epsilon", "math.exp(2 * epsilon"),
    (r"2 \* bound", "1 * bound"),
)


@pytest.fixture(autouse=True)
def _shorter(monkeypatch):
    """What is not proved is given up sooner."""
    monkeypatch.setattr("dpassay.replay.alignment.MILLISECONDS", 4000)


@pytest.mark.parametrize("name", ACCEPTED)
def test_written_by_hand(name):
    found = check("alignment", ACCEPTED[name])
    assert found["supports"] == "holds"
    assert found["conditions"] >= 10


def _changed(inputs, *path, to=None, drop=False):
    made = copy.deepcopy(inputs)
    inner = made
    for step in path[:-1]:
        inner = inner[step]
    if drop:
        del inner[path[-1]]
    else:
        inner[path[-1]] = to
    return made


def _weaker(inputs):
    """Alignments in which something is missing or too weak, with what was done."""
    for kind, key in EXPRESSIONS.items():
        for at, cases in inputs.get(kind, {}).items():
            for place, case in enumerate(cases):
                if case[key] == "0":
                    continue
                yield f"{kind} {at} dropped", _changed(inputs, kind, at, place, drop=True)
                opposite = f"not ({case[key]})" if key == "flip" else f"-({case[key]})"
                yield f"{kind} {at} turned", _changed(inputs, kind, at, place, key, to=opposite)
                if case["when"]:
                    turned = {branch: not outcome for branch, outcome in case["when"].items()}
                    yield f"{kind} {at} elsewhere", _changed(inputs, kind, at, place, "when", to=turned)
    for at, loop in inputs.get("loops", {}).items():
        for place, said in enumerate(loop["invariant"]):
            yield f"without {said}", _changed(inputs, "loops", at, "invariant", place, drop=True)
        yield f"{at}: false", _changed(inputs, "loops", at, "invariant", to=[*loop["invariant"], "1 == 0"])
    for name, said in inputs.get("lists", {}).items():
        yield f"{name} unknown", _changed(inputs, "lists", name, drop=True)
        yield f"{name}: false", _changed(inputs, "lists", name, to=[*said, "k < 0"])
    for place, said in enumerate(inputs["assume"]):
        yield f"without {said}", _changed(inputs, "assume", place, drop=True)
    yield "nothing assumed possible", _changed(inputs, "assume", to=[*inputs["assume"], "1 == 0"])
    yield "a smaller claim", _changed(inputs, "claim", "bound", to=f"0.99 * ({inputs['claim']['bound']})")
    for place, at in enumerate(inputs.get("free", [])):
        yield f"{at} not free", _changed(inputs, "free", place, drop=True)
    for name in inputs.get("prophecies", {}):
        yield f"{name} unknown", _changed(inputs, "prophecies", name, drop=True)


@pytest.mark.parametrize("name", ACCEPTED)
def test_weaker_alignments_are_rejected(name):
    for what, forged in _weaker(ACCEPTED[name]):
        with pytest.raises(Rejected):
            pytest.fail(f"{what}: {computed('alignment', forged)}")


def _broken(inputs):
    """The same alignment for another text."""
    text = inputs["program"]["text"]
    for pattern, new in CHANGES:
        for match in re.finditer(pattern, text):
            made = text[: match.start()] + new + text[match.end() :]
            line = made.splitlines()[text[: match.start()].count("\n")].strip()
            yield line, _changed(_moved(inputs, text, made), "program", "text", to=made)


def _moved(inputs, before, after):
    """Positions behind a change move with the text."""
    change = next(place for place, (a, b) in enumerate(zip(before, after, strict=False)) if a != b)
    line, column = before[:change].count("\n") + 1, change - before.rfind("\n", 0, change) - 1
    grown = len(after) - len(before)

    def moved(match):
        there = int(match[2])
        return f"{line}:{there + grown if there > column else there}"

    return json.loads(re.sub(rf"\b({line}):(\d+)", moved, json.dumps(inputs)))


@pytest.mark.parametrize("name", ACCEPTED)
def test_changed_programs_are_rejected(name):
    for line, forged in _broken(ACCEPTED[name]):
        if any(name == program and words in line for program, words in HARMLESS):
            continue
        with pytest.raises(Rejected):
            pytest.fail(f"{line}: {computed('alignment', forged)}")
