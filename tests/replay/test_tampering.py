"""A certificate with a changed digit does not replay, also after its checksum was computed again."""

import copy
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dpassay as dp
from dpassay.core.certificate import checksum
from dpassay.core.errors import InvalidInput
from dpassay.core.registry import find_claim
from dpassay.replay import Rejected, check, replay, seal

CLAIM = "PP-L2"  # any registered claim that is not about one mechanism: replay compares the sentence

PARAMETERS: dict[str, Any] = {
    "num_neighbors": 2,
    "target": 0,
    "similarity": "cosine",
    "ties": "index",
    "no_overlap": "zero",
    "epsilon": "1",
    "weight": "exponential",
    "sensitivity": "local",
    "probability": "1/2",
    "rule": "algorithm",
    "last": "exponential",
}

WITNESS: dict[str, Any] = {
    "mechanism": {"id": "ppns", "variant": "paper", "parameters": PARAMETERS},
    "relation": "add_or_remove_one:rating",
    "epsilon": "inf",
    "delta": "0",
    "dataset1": [[None], [None], [None], [1]],
    "dataset2": [[1], [None], [None], [1]],
    "event": [[1, 3]],
    "scale": ["1", "2"],
    "minimality": {},
}

INPUTS: dict[str, dict[str, Any]] = {
    "witness": WITNESS,
    "finite witness": {
        "mechanism": {
            "id": "npns",
            "variant": "paper",
            "parameters": {
                **{name: PARAMETERS[name] for name in ("target", "similarity", "ties", "no_overlap", "weight")},
                "num_neighbors": 1,
                "epsilon": "30",
                "sensitivity": "local",
            },
        },
        "relation": "replace_one:rating",
        "epsilon": "1/4",
        "delta": "1/100",
        "dataset1": [[1, 2], [1, 2], [2, 1]],
        "dataset2": [[1, 2], [5, 2], [2, 1]],
        "event": [[1]],
        "supports": "refuted",
    },
    "law": {
        "mechanism": {
            "id": "npns",
            "variant": "repaired",
            "parameters": {
                "num_neighbors": 2,
                "target": 0,
                "epsilon": "1",
                "norm_floor": "2",
                "max_rating": "5",
                "protect": "everyone",
            },
        },
        "dataset": [[1, 2], [3, None], [None, 2], [5, 5]],
        "events": {"top": [[1, 3]]},
        "values": {"third": "1/3"},
        "condition": ["and", [">", "top", "3/10"], ["<", "top", "third"], [">", "alpha", "1"]],
        "supports": "holds",
    },
    "selection": {
        "similarities": ["1", "1/2", "1/2", "0"],
        "base": "4",
        "num_neighbors": 2,
        "methods": {"ppns": {"probability": "15/16"}, "npns": {}, "manly": {"kind": "npns", "mean": "manly"}},
        "values": {"bound": "1/100"},
        "condition": ["and", ["<", "alpha_ppns", "alpha_npns"], ["<", ["-", "mu_manly_1", "mu_npns_1"], "bound"]],
        "supports": "refuted",
    },
    "formula": {
        "values": {"n": 500, "k": 50},
        "formulas": [["<", ["-", "1", ["^", ["-", "1", ["/", "k", "n"]], ["exp", "1/200"]]], "101/1000"]],
        "supports": "holds",
    },
    "proof": {
        "supports": "holds",
        "argument": "The square is not negative, and 2 squares expand.",
        "steps": [
            {
                "name": "sum of squares",
                "engine": "smt",
                "variables": ["x", "y"],
                "hypotheses": [[">", "x", "0"], [">", "y", "1"]],
                "conclusion": [">", ["+", ["^", "x", 2], ["^", "y", 2]], "1"],
                "model": {"x": "1", "y": "2"},
            },
            {
                "name": "binomial",
                "engine": "identity",
                "left": ["^", ["+", "a", "b"], 2],
                "right": ["+", ["^", "a", 2], ["*", 2, "a", "b"], ["^", "b", 2]],
            },
        ],
    },
    "statistics": {
        "successes": 4,
        "trials": 943,
        "failure_probability": "1/100",
        "num_looks": 2,
        "values": {"half": "1/2"},
        "outcomes": {"holds": [">", "lower", "half"], "refuted": ["<", "upper", "half"]},
        "description": "targets who are the most similar real user, of 943 drawn",
    },
    "reproduction": {
        "form": "cells",
        "confidence": "99/100",
        "printed": {"a": "0.6956", "b": "15"},
        "readings": {"first": {"a": ["0.6950", "0.6961", "0.7001"], "b": [15]}, "second": {"a": ["0.8", "0.81"]}},
    },
    "orderings": {
        "form": "orderings",
        "confidence": "19/20",
        "comparisons": {
            "knn": {"claimed": "positive", "differences": ["0.1", "0.2", "0.15", "1e-1"]},
            "npns": {"claimed": "negative", "count": 100, "sum": "-20", "sum_of_squares": "10"},
        },
    },
    "trend": {
        "form": "trend",
        "confidence": "99/100",
        "rows": {
            "knn": [
                {"printed": "0.8", "runs": ["0.8", "0.81"]},
                {"printed": "0.7", "runs": ["0.8", "0.81", "0.815"]},
                {"printed": "0.75", "runs": ["0.8", "0.82"]},
            ]
        },
    },
}
"""name -> inputs; the kind is the name, except for the further forms of one kind."""

KINDS = {"finite witness": "witness", "orderings": "reproduction", "trend": "reproduction"}


@pytest.fixture
def sealed(review: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    monkeypatch.setattr("dpassay.replay.expected_outcomes", dict)  # they may conclude anything
    claim = find_claim(CLAIM)
    assert claim is not None
    found = {}
    for name, inputs in INPUTS.items():
        kind = KINDS.get(name, name)
        concludes = "measured" if kind in ("statistics", "reproduction") else inputs.get("supports", "refuted")
        review(CLAIM, kind, inputs, concludes)
        found[name] = seal(CLAIM, claim.statement, kind, inputs).to_json()
    return found


def replays(content: dict[str, Any], folder: Path) -> bool:
    """Whether the file replays once its checksum is right again."""
    path = folder / "certificate.json"
    path.write_text(json.dumps({**content, "sha256": checksum(content)}))
    return replay(path).checks


def leaves(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every (place, text or number) inside a JSON value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*place, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*place, index))
    elif isinstance(value, int | str) and not isinstance(value, bool):
        yield place, value


def replaced(content: dict[str, Any], place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(content)
    inner = changed
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return changed


def digit_changes(value: int | str) -> Iterator[int | str]:
    """The value with each of its digits made one larger (9 becomes 0)."""
    text = str(value)
    for match in re.finditer(r"\d", text):
        changed = text[: match.start()] + str((int(match.group()) + 1) % 10) + text[match.end() :]
        yield int(changed) if isinstance(value, int) else changed


@pytest.mark.parametrize("name", INPUTS)
def test_the_certificate_itself_replays(sealed: dict[str, Any], name: str, tmp_path: Path) -> None:
    assert replays(sealed[name], tmp_path)


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("part", ["inputs", "result"])
def test_no_digit_can_change(sealed: dict[str, Any], name: str, part: str, tmp_path: Path) -> None:
    survivors = []
    tried = 0
    for place, value in leaves(sealed[name][part], (part,)):
        for changed in digit_changes(value):
            tried += 1
            if replays(replaced(sealed[name], place, changed), tmp_path):
                survivors.append((place, value, changed))
    assert tried > 3
    assert survivors == []


@pytest.mark.parametrize("name", INPUTS)
def test_no_field_can_be_dropped(sealed: dict[str, Any], name: str, tmp_path: Path) -> None:
    for part in ("inputs", "result"):
        for key in sealed[name][part]:
            changed = copy.deepcopy(sealed[name])
            del changed[part][key]
            assert not replays(changed, tmp_path), (part, key)
    for key in ("claim", "statement", "kind", "inputs", "result", "version"):
        changed = copy.deepcopy(sealed[name])
        del changed[key]
        with pytest.raises(InvalidInput):
            replays(changed, tmp_path)


@pytest.mark.parametrize("name", INPUTS)
def test_kind_and_claim_cannot_be_swapped(sealed: dict[str, Any], name: str, tmp_path: Path) -> None:
    assert not replays({**sealed[name], "claim": "PP-SEC"}, tmp_path)
    assert not replays({**sealed[name], "claim": "PP-NONE"}, tmp_path)
    assert not replays({**sealed[name], "statement": sealed[name]["statement"] + " "}, tmp_path)
    for kind in ("witness", "law", "selection", "formula", "proof", "statistics", "reproduction", "none"):
        if kind != sealed[name]["kind"]:
            assert not replays({**sealed[name], "kind": kind}, tmp_path)


def test_unreadable_files_are_said_to_be(sealed: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    good = json.dumps(sealed["witness"])
    for damaged in (good[:-5], good.replace("{", "[", 1), "", "[]", '"text"', '{"format": "other"}', "\x00"):
        path.write_text(damaged)
        with pytest.raises(InvalidInput):
            replay(path)
    with pytest.raises(InvalidInput, match="version 1"):
        replays({**sealed["witness"], "version": 1}, tmp_path)
    path.write_text(json.dumps({**sealed["witness"], "sha256": "0" * 64}))
    with pytest.raises(InvalidInput, match="damaged"):
        replay(path)
    with pytest.raises(InvalidInput, match="cannot read"):
        replay(tmp_path / "absent.json")


def test_a_whole_number_is_not_the_same_as_its_text(sealed: dict[str, Any], tmp_path: Path) -> None:
    place = ("result", "changed", 0, 0)
    assert not replays(replaced(sealed["witness"], place, 0.0), tmp_path)
    assert not replays(replaced(sealed["witness"], place, False), tmp_path)


def test_sealing_refuses_what_the_checker_rejects() -> None:
    with pytest.raises(Rejected, match="unknown kind"):
        seal(CLAIM, "", "none", {})
    with pytest.raises(Rejected, match="use one of"):
        check("formula", {**INPUTS["formula"], "supports": "maybe"})
    with pytest.raises(Rejected, match="unknown fields"):
        check("witness", {**WITNESS, "note": "1"})
    unreadable: list[Any] = [{}, [], None, {"form": []}, {"steps": 3}, {"dataset1": 1}]
    for inputs in unreadable:
        for kind in ("witness", "law", "selection", "formula", "proof", "statistics", "reproduction"):
            with pytest.raises(Rejected):
                check(kind, inputs)


def test_a_witness_of_another_mechanism_or_a_smaller_loss_is_refused(tmp_path: Path) -> None:
    def content(name: str, **changes: Any) -> dict[str, Any]:
        claim = find_claim(name)
        assert claim is not None
        return seal(name, claim.statement, "witness", {**WITNESS, **changes}).to_json()

    assert replays(content("PP-DP"), tmp_path)
    assert replays(content("PP-DP", epsilon="1"), tmp_path)
    assert not replays(content("PP-DP", epsilon="99/100"), tmp_path)  # claims to exceed less than is allowed
    assert not replays(content("PP-ORIG"), tmp_path)  # another rule
    assert not replays(content("PP-PNCF-NOT"), tmp_path)  # another mechanism


def test_the_name_is_callable_however_it_was_bound(tmp_path: Path) -> None:
    import dpassay.replay

    for function in (dp.replay, dpassay.replay):
        with pytest.raises(InvalidInput, match="cannot read"):
            function(tmp_path / "absent.json")
