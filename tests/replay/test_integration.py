"""Counterexamples that violate a program's claim are confirmed, with values by hand; forged ones are rejected."""

import copy
import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest

from dpassay.replay import OWN, Rejected, check, replay, seal
from dpassay.report.schema import validate_certificate

SPARSE_VECTOR = """
def sparse_vector(rng, queries, epsilon, c: int):
    answers = []
    count = 0
    limit = rng.laplace(0, 2 / epsilon)
    for query in queries:
        if query + rng.laplace(0, SCALE * c / epsilon) >= limit:
            answers.append(True)
            count += 1
            if count >= c:
                break
        else:
            answers.append(False)
    return answers
"""
NOISY_SUM = """
def noisy_sum(rng, values, epsilon):
    return sum(values) + rng.laplace(0, SCALE / epsilon)
"""
GAUSSIAN = """
import math
def noisy_sum(rng, values, rho):
    return sum(values) + rng.normal(0, SCALE / math.sqrt(2 * rho))
"""


def refutation(text: str, scale: str, entry: str, **changes: Any) -> dict[str, Any]:
    return {
        "program": {"text": text.replace("SCALE", scale), "entry": entry},
        "parameters": {"epsilon": "real"},
        "relation": {"kind": "one_query", "bounds": None, "values": "real", "radius": "1"},
        "claim": {"notion": "epsilon", "bound": "epsilon"},
        "assume": ["epsilon > 0"],
        "values": {"epsilon": "1"},
        "data1": ["0"],
        "data2": ["1"],
        "output": {"between": [None, "0"]},
        **changes,
    }


HALF_NOISE = refutation(NOISY_SUM, "(1 / 2)", "noisy_sum")
SVT = refutation(
    SPARSE_VECTOR,
    "2",
    "sparse_vector",
    parameters={"epsilon": "real", "c": "int"},
    values={"epsilon": "1", "c": "1"},
    relation={"kind": "all_queries", "bounds": None, "values": "real", "radius": "1"},
    assume=["epsilon > 0", "c >= 1"],
    data1=["0", "0", "1"],
    data2=["1", "1", "0"],
    output=[False, False, True],
)
ZCDP = refutation(
    GAUSSIAN,
    "(1 / 2)",
    "noisy_sum",
    parameters={"rho": "real"},
    values={"rho": "1"},
    claim={"notion": "zcdp", "bound": "rho"},
    assume=["rho > 0"],
    output={"between": [None, "-8"]},
    order="8",
)


def test_confirmed_with_values_by_hand() -> None:
    result = check("integration", HALF_NOISE)
    assert [float(end) for end in result["probability1"]] == pytest.approx([0.5, 0.5])
    assert [float(end) for end in result["probability2"]] == pytest.approx([math.exp(-2) / 2] * 2)
    assert float(result["log_ratio"][0]) == pytest.approx(2)
    assert result["supports"] == "refuted"
    svt = check("integration", SVT)
    assert float(svt["log_ratio"][0]) == pytest.approx(1.0771635247504783, rel=1e-12)
    assert "SHA-256" in svt["statement"]


def test_numbers_of_the_program_are_never_rounded() -> None:
    # 1/3 as a float is below 1/3: the loss would be above the claim by as much.
    for scale in ("float(1) / 3", "(1 / 3)"):
        third = refutation(NOISY_SUM, f"({scale})", "noisy_sum", claim={"notion": "epsilon", "bound": "3 * epsilon"})
        with pytest.raises(Rejected, match="do not violate"):
            check("integration", third)


def test_zcdp_by_a_divergence() -> None:
    result = check("integration", ZCDP)
    assert float(result["divergence"][0]) > float(result["bound"][0]) == 8
    with pytest.raises(Rejected, match="does not violate"):
        check("integration", {**ZCDP, "program": {**ZCDP["program"], "text": GAUSSIAN.replace("SCALE", "1")}})
    for order in ("1", "1/2"):
        with pytest.raises(Rejected, match="above 1"):
            check("integration", {**ZCDP, "order": order})
    with pytest.raises(Rejected, match="needs the order"):
        check("integration", {name: each for name, each in ZCDP.items() if name != "order"})


def test_impossible_outputs_have_infinite_loss() -> None:
    exact = refutation("def f(rng, values, epsilon):\n    return values[0]\n", "", "f", output={"between": ["0", "0"]})
    assert check("integration", exact)["log_ratio"] == "inf"
    with pytest.raises(Rejected, match="not certainly possible"):
        check("integration", {**exact, "output": {"between": ["1/2", "1/2"]}})


def test_data_of_one_value_and_public_lists() -> None:
    bit = "def f(rng, bit: int, epsilon):\n    return bit if rng.random() < 3 / 4 else 1 - bit\n"
    told = refutation(bit, "", "f", output=0)
    told["relation"] = {**told["relation"], "values": "int"}
    assert check("integration", {**told, "claim": {"notion": "epsilon", "bound": "1"}})["log_ratio"]
    with pytest.raises(Rejected, match="do not violate"):
        check("integration", {**told, "claim": {"notion": "epsilon", "bound": "log(3)"}})
    text = "def f(rng, data, epsilon, edges: list[int]):\n    edges.append(1)\n    return 2 * data[0] + rng.laplace()\n"
    text = text.replace("2 *", "len(edges) *")
    listed = refutation(text, "", "f", output={"between": [None, "0"]})
    listed["parameters"] = {**listed["parameters"], "edges": "list[int]"}
    listed["values"] = {**listed["values"], "edges": ["5"]}
    assert check("integration", {**listed, "claim": {"notion": "epsilon", "bound": "3/2"}})["log_ratio"]
    with pytest.raises(Rejected, match="do not violate"):  # the list is a new one in every run
        check("integration", {**listed, "claim": {"notion": "epsilon", "bound": "2"}})
    with pytest.raises(Rejected, match="no value of sort"):
        check("integration", {**listed, "values": {**listed["values"], "edges": ["1/2"]}})
    with pytest.raises(Rejected, match="list"):
        check("integration", {**listed, "values": {**listed["values"], "edges": "5"}})


def changed(inputs: dict[str, Any], *path: Any, to: Any) -> dict[str, Any]:
    forged = copy.deepcopy(inputs)
    place = forged
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return forged


@pytest.mark.parametrize(
    ("inputs", "reason"),
    [
        (changed(HALF_NOISE, "program", "text", to=NOISY_SUM.replace("SCALE", "1")), "do not violate"),
        (changed(SVT, "program", "text", to=SPARSE_VECTOR.replace("SCALE", "4")), "do not violate"),
        (changed(HALF_NOISE, "program", "text", to="def noisy_sum(rng, v, epsilon):\n    return eval('0')\n"), "read"),
        (changed(HALF_NOISE, "program", "entry", to="other"), "other"),
        (
            changed(HALF_NOISE, "program", "text", to="def noisy_sum(rng, v: int, epsilon):\n    return v\n")
            | {"data1": ["0", "1"], "data2": ["1", "1"]},
            "one value",
        ),
        (changed(HALF_NOISE, "output", "between", to=[None, "100"]), "do not violate"),
        (changed(HALF_NOISE, "output", "between", to=[None, None]), "do not violate"),
        (changed(HALF_NOISE, "output", "between", to=["0"]), "two ends"),
        (changed(HALF_NOISE, "output", to={"anything": True}), "part of the event"),
        (changed(SVT, "output", 2, to=False), "do not violate"),
        (changed(HALF_NOISE, "values", "epsilon", to="0"), "do not satisfy"),
        (changed(HALF_NOISE, "values", "epsilon", to="-1"), "do not satisfy"),
        (changed(HALF_NOISE, "values", "epsilon", to=1.0), "exact number"),
        (changed(HALF_NOISE, "values", to={}), "lacks"),
        (changed(SVT, "values", "c", to="0"), "do not satisfy"),
        (changed(SVT, "values", "c", to="3/2"), "no value of sort"),
        (changed(HALF_NOISE, "assume", to=["epsilon > 0", "__import__('os')"]), "cannot repeat"),
        (changed(HALF_NOISE, "assume", to=["epsilon > 0", "__import__(os)"]), "no expression"),
        (changed(HALF_NOISE, "assume", to=["epsilon"]), "do not satisfy"),
        (changed(HALF_NOISE, "parameters", to={"epsilon": "real", "c": "int"}), "lacks"),
        (changed(HALF_NOISE, "data2", to=["2"]), "changes by more"),
        (changed(HALF_NOISE, "data2", to=["1", "0"]), "different lengths"),
        (changed(SVT, "relation", "kind", to="one_query"), "more than one"),
        (changed(SVT, "relation", "kind", to="monotone_queries"), "up and some go down"),
        (changed(HALF_NOISE, "relation", "kind", to="add_or_remove_one:entry"), "one entry more"),
        (changed(HALF_NOISE, "relation", "kind", to="anything"), "use one of"),
        (changed(HALF_NOISE, "relation", "bounds", to=["-1", "1/2"]), "outside the bounds"),
        (changed(HALF_NOISE, "relation", "values", to="bool") | {"data2": ["1/2"]}, "no value of sort"),
        (changed(HALF_NOISE, "claim", "bound", to="2 * epsilon"), "do not violate"),
        (changed(HALF_NOISE, "claim", "notion", to="delta"), "delta"),
        ({**HALF_NOISE, "probability1": "1"}, "unknown fields"),
    ],
)
def test_forgeries_are_rejected(inputs: dict[str, Any], reason: str) -> None:
    with pytest.raises(Rejected, match=reason):
        check("integration", inputs)


def test_a_file_with_changed_digits_fails(tmp_path: Path) -> None:
    statement = check("integration", HALF_NOISE)["statement"]
    path = tmp_path / "refutation.json"
    certificate = seal(OWN["integration"], statement, "integration", HALF_NOISE)
    certificate.write(path)
    validate_certificate(certificate.to_json())
    assert replay(path).outcome == "refuted"
    for name, forged in (
        ("log_ratio", ["3", "3"]),
        ("probability1", ["0.6", "0.6"]),
        ("statement", statement.replace("one_query", "all_queries")),
    ):
        dataclasses.replace(certificate, result={**certificate.result, name: forged}).write(path)
        assert not replay(path).checks
    dataclasses.replace(certificate, claim="AUDIT").write(path)
    assert "filed under PROGRAM" in replay(path).reason


def test_loops_that_may_not_end_count_against_the_refutation() -> None:
    text = """
def f(rng, values, epsilon):
    count = 0
    while values[0] + rng.laplace(0, 1 / epsilon) < 0:
        count += 1
    return count
"""
    # The first round decides count == 0: 1/2 against e^-1 / 2, and what is never resolved has no weight to speak of.
    event = {"output": 0, "data2": ["-1"], "claim": {"notion": "epsilon", "bound": "epsilon / 2"}}
    assert float(check("integration", {**refutation(text, "", "f"), **event})["log_ratio"][0]) == pytest.approx(1)
    stuck = text.replace("values[0] + rng.laplace(0, 1 / epsilon)", "values[0] + 0 * epsilon")
    with pytest.raises(Rejected, match="stops with an error"):
        check("integration", {**refutation(stuck, "", "f"), **event})


def test_what_is_unresolved_may_be_the_event() -> None:
    text = """
def f(rng, values, epsilon):
    looking = values[0] > 0
    while looking:
        looking = rng.laplace(0, 1 / epsilon) < 5
    return 0
"""
    with pytest.raises(Rejected, match="do not violate"):  # the answer is surely 0, but less than a third is followed
        check("integration", {**refutation(text, "", "f"), "output": 0})
