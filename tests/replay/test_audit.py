"""Certificates of audits replay, agree with the audit's own numbers, and fail when anything in them is changed."""

import copy
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import fmpq

from dpassay.auditors.betting import EProcess
from dpassay.auditors.fixed_sample import Counts, certificate_inputs, epsilon_lower
from dpassay.auditors.guesses import Guesses, weighted_tail
from dpassay.core.certificate import Certificate, checksum
from dpassay.core.privacy import PrivacyClaim
from dpassay.replay import Rejected, check, replay
from dpassay.replay.implied import read_claim
from dpassay.replay.numbers import precision

BASE: dict[str, Any] = {
    "mechanism": "noisy count",
    "dataset1": "[1, 2]",
    "dataset2": "[1]",
    "claim": {"kind": "dp", "epsilon": "1/2", "delta": "0"},
    "failure_probability": "1/100",
}


def fixed(counts: Counts, epsilon: float = 0.5, delta: float = 0.0, **changes: Any) -> dict[str, Any]:
    claim = {"kind": "dp", "epsilon": str(Fraction(epsilon)), "delta": str(Fraction(delta))}
    event = certificate_inputs(counts, epsilon, delta, failure_probability=0.01)
    return {**BASE, "mode": "fixed", "claim": claim, "events": [event], **changes}


def anytime(seed: int = 0, batches: int = 30) -> tuple[dict[str, Any], float]:
    """Two epochs of three events each, and the log e-value of the auditor's own arithmetic."""
    generator = np.random.default_rng(seed)
    epochs, wealth = [], np.zeros(1)
    for trials in ((20, 30), (60, 50)):
        process = EProcess(np.full((3, 1), 0.5), 0.0, [0.5, 0.25, 0.125], log_wealth=wealth, claim_index=0)
        for _ in range(batches):
            process.update(
                generator.binomial(trials[0], [0.6, 0.4, 0.1]),
                trials[0],
                generator.binomial(trials[1], [0.25, 0.2, 0.1]),
                trials[1],
            )
        epochs.append(process.certificate_inputs())
        wealth = process.log_e
    return {**BASE, "mode": "anytime", "epochs": epochs}, float(wealth[0])


def sealed(inputs: dict[str, Any]) -> dict[str, Any]:
    result = check("audit", inputs)
    return Certificate("AUDIT", result["statement"], "audit", inputs, result).to_json()


def replays(content: dict[str, Any], folder: Path) -> bool:
    path = folder / "certificate.json"
    path.write_text(json.dumps({**content, "sha256": checksum(content)}))
    return replay(path).checks


def test_the_capital_is_that_of_the_auditor() -> None:
    inputs, log_e = anytime()
    result = check("audit", inputs)
    assert result["supports"] == "refuted"
    found = sum(float(value) for value in result["log_e_values"])
    assert log_e - 2e-4 * len(result["log_e_values"]) < found < log_e + 1e-6  # each epoch leaves out a share of 1e-4


def test_too_little_capital_refutes_nothing() -> None:
    inputs, log_e = anytime(batches=2)
    assert check("audit", {**inputs, "failure_probability": str(Fraction(math.exp(-log_e - 1e-6)))})["supports"] == (
        "not refuted"
    )
    assert check("audit", {**inputs, "failure_probability": str(Fraction(math.exp(-log_e + 1e-6)))})["supports"] == (
        "refuted"
    )


@pytest.mark.parametrize(
    "counts",
    [
        Counts(10, 1000, 0, 1000),
        Counts(60, 100, 40, 100),
        Counts(300, 10**8, 200, 10**8),
        Counts(410, 10**3, 350, 10**3),
        Counts(50, 60, 50, 110),
    ],
)
@pytest.mark.parametrize("delta", [0.0, 1 / 256])
def test_the_fixed_test_agrees_with_the_auditor(counts: Counts, delta: float) -> None:
    bound = epsilon_lower(counts, delta=delta, failure_probability=0.01)
    # A hair above the bound nothing is refuted, a little below it is: coarser cells cost hundredths of a deviation.
    deviation = math.sqrt(1 / counts.successes1 + 1 / (counts.successes2 + 1))
    assert check("audit", fixed(counts, bound + 0.05 * deviation, delta))["supports"] == "not refuted"
    if bound > 0.2 * deviation:
        assert check("audit", fixed(counts, bound - 0.15 * deviation, delta))["supports"] == "refuted"


def test_certificates_replay_without_a_registered_claim(tmp_path: Path) -> None:
    for inputs in (anytime()[0], fixed(Counts(500, 1000, 100, 1000))):
        content = sealed(inputs)
        assert replays(content, tmp_path)
        assert not replays({**content, "statement": content["statement"] + " "}, tmp_path)
        assert not replays({**content, "claim": "PP-L2"}, tmp_path)
        claimed = {"refuted": "not refuted", "not refuted": "refuted"}[content["result"]["supports"]]
        assert not replays({**content, "result": {**content["result"], "supports": claimed}}, tmp_path)
        assert not replays({**content, "kind": "statistics"}, tmp_path)
        for part in ("inputs", "result"):
            for name in content[part]:
                changed = copy.deepcopy(content)
                del changed[part][name]
                assert not replays(changed, tmp_path), (part, name)


def test_changed_counts_bets_and_claims_are_noticed(tmp_path: Path) -> None:
    content = sealed(anytime(batches=4)[0])
    event = content["inputs"]["epochs"][1][0]
    places = [(event, "weight"), (event["strategies"], 0), *((event["looks"][2], index) for index in range(7))]
    for holder, place in places:
        kept = holder[place]
        holder[place] = kept + 1 if isinstance(kept, int) else str(Fraction(kept) * Fraction(9, 10))
        assert not replays(content, tmp_path), place
        holder[place] = kept
    for name, value in (("epsilon", "1/4"), ("delta", "1/1000"), ("epsilon", "501/1000")):
        changed = copy.deepcopy(content)
        changed["inputs"]["claim"][name] = value
        assert not replays(changed, tmp_path)
    assert replays(content, tmp_path)


def test_a_null_that_the_claim_does_not_imply_is_rejected() -> None:
    counts = Counts(500, 1000, 100, 1000)
    steep = fixed(counts, claim={"kind": "dp", "epsilon": "501/1000", "delta": "0"})
    with pytest.raises(Rejected, match="does not imply"):
        check("audit", steep)
    # a Gaussian claim of 1 allows 0.12693... at epsilon 1
    for offset, implied in ((0.1270, True), (0.1269, False)):
        inputs = fixed(counts, 1.0, offset, claim={"kind": "gaussian", "mu": "1"})
        if implied:
            assert check("audit", inputs)["supports"] == "refuted"
        else:
            with pytest.raises(Rejected, match="does not imply"):
                check("audit", inputs)
    profile = {"kind": "profile", "points": [["1/2", "1/10"], ["1", "0"]]}
    assert check("audit", fixed(counts, 0.5, 0.125, claim=profile))["supports"] == "refuted"
    with pytest.raises(Rejected, match="does not imply"):
        check("audit", fixed(counts, 0.75, 0.0625, claim=profile))


@pytest.mark.parametrize(
    "claim",
    [PrivacyClaim.renyi(2.0, 0.3), PrivacyClaim.renyi(1.25, 2.0), PrivacyClaim.zcdp(0.15), PrivacyClaim.zcdp(2.0)],
    ids=str,
)
def test_what_a_renyi_bound_implies_is_accepted_and_a_thousandth_less_is_not(claim: PrivacyClaim) -> None:
    stated = {key: value if key == "kind" else repr(value) for key, value in claim.to_json().items() if key != "text"}
    implies = read_claim(stated)["implies"]
    judged = 0
    for slope, offset in claim.own_nulls[::7]:
        exact = fmpq(*slope.as_integer_ratio()), fmpq(*offset.as_integer_ratio())
        with precision():
            assert implies(*exact)
            assert not implies(exact[0], exact[1] * 999 / 1000)
            assert not implies(-exact[0] - 1, exact[1])
        judged += 1
    assert judged >= 3


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ({"kind": "zcdp", "rho": "0"}, "rho must be above 0"),
        ({"kind": "renyi", "order": "1", "epsilon": "1"}, "order must be above 1"),
        ({"kind": "renyi", "order": "2"}, "lacks epsilon"),
        ({"kind": "pufferfish"}, "not dp, gaussian, zcdp, renyi or profile"),
    ],
)
def test_unusable_claims_are_rejected(claim: dict[str, str], message: str) -> None:
    with pytest.raises(Rejected, match=message):
        read_claim(claim)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mode": "later"}, "mode"),
        ({"failure_probability": "2"}, "failure probability"),
        ({"mechanism": ""}, "text"),
        ({"claim": {"kind": "none"}}, "kind of claim"),
        ({"events": []}, "sum to at most 1"),
        ({"note": "1"}, "unknown fields"),
    ],
)
def test_unusable_inputs_are_rejected(change: dict[str, Any], message: str) -> None:
    with pytest.raises(Rejected, match=message):
        check("audit", fixed(Counts(5, 10, 1, 10), **change))


def test_bets_and_weights_out_of_range_are_rejected() -> None:
    inputs, _ = anytime(batches=2)

    def changed(place: Any, value: Any) -> dict[str, Any]:
        other = copy.deepcopy(inputs)
        place(other["epochs"][0][0], value)
        return other

    def look(index: int) -> Any:
        return lambda event, value: event["looks"][0].__setitem__(index, value)

    for place, value in (
        (look(5), "100"),  # the capital could become negative
        (look(5), "-1/100"),  # a bet on the null
        (look(4), "2"),
        (look(0), 21),
        (lambda event, value: event.__setitem__("weight", value), "2"),
        (lambda event, value: event["strategies"].__setitem__(0, value), "2"),
    ):
        with pytest.raises(Rejected):
            check("audit", changed(place, value))


def guessed(*levels: Any, epsilon: str = "1/2", **changes: Any) -> dict[str, Any]:
    event = {"weight": "1", "log_slope": epsilon, "offset": "0", "guesses": [list(level) for level in levels]}
    return {**BASE, "mode": "fixed", "events": [event | changes]}


@pytest.mark.parametrize(
    "levels",
    [
        [(1, 700, 300)],
        [(1, 70, 30), (3, 25, 5), (5, 12, 1)],
        [(1, 5_010_000, 4_990_000), (4, 505_000, 495_000)],
        [(2, 10**7 + 10**5, 10**7), (7, 0, 0)],
    ],
)
def test_guesses_agree_with_the_auditor(levels: Any) -> None:
    bound = Guesses(tuple(levels)).epsilon_lower(0.01)
    assert bound > 0
    for epsilon, supports in ((bound * 1.01, "not refuted"), (bound * 0.99, "refuted")):
        inputs = guessed(*levels, epsilon=str(Fraction(epsilon)))
        inputs["claim"] = {"kind": "dp", "epsilon": str(Fraction(epsilon)), "delta": "0"}
        assert check("audit", inputs)["supports"] == supports


def test_guesses_are_added_on_a_grid_that_only_adds() -> None:
    levels = ((1, 60_500, 39_500), (3, 24_100, 15_900), (5, 36_300, 23_700))
    weights, totals = [level[0] for level in levels], [level[1] + level[2] for level in levels]
    least = sum(weight * right for weight, right, _ in levels)
    exact = weighted_tail(weights, totals, least, 1 / (1 + math.exp(-0.41)))
    assert 1e-4 < exact < 0.2
    for share, supports in ((exact * 0.9999, "not refuted"), (exact * 1.05, "refuted")):
        inputs = guessed(*levels, epsilon="41/100") | {"failure_probability": str(Fraction(share))}
        inputs["claim"] = {"kind": "dp", "epsilon": "41/100", "delta": "0"}
        assert check("audit", inputs)["supports"] == supports


def test_guesses_refute_at_any_failure_probability() -> None:
    assert Guesses(((1, 700, 100),)).p_value(0.5) < 1e-30
    for exponent in (10, 20, 30):
        tiny = guessed((1, 700, 100)) | {"failure_probability": str(Fraction(1, 10**exponent))}
        assert check("audit", tiny)["supports"] == "refuted"


def test_changed_guesses_are_noticed(tmp_path: Path) -> None:
    content = sealed(guessed((1, 70, 30), (3, 25, 5), (5, 12, 1)))
    assert content["result"]["supports"] == "refuted"
    assert "by guesses" in content["result"]["summary"]
    assert replays(content, tmp_path)
    assert not replays({**content, "claim": "PP-L2"}, tmp_path)
    levels = content["inputs"]["events"][0]["guesses"]
    for level in levels:
        level[1:] = level[:0:-1]  # right and wrong exchanged
        assert check("audit", content["inputs"])["supports"] == "not refuted"
        assert not replays(content, tmp_path)
        level[1:] = level[:0:-1]
    assert replays(content, tmp_path)
    fewer = guessed((1, 70, 60), (3, 25, 15), (5, 12, 6))
    assert check("audit", fewer)["supports"] == "not refuted"
    assert not replays({**content, "inputs": fewer}, tmp_path)
    assert not replays({**content, "inputs": {**content["inputs"], "failure_probability": "1/100000000"}}, tmp_path)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (guessed(), "guesses need"),
        (guessed((0, 70, 30)), "integer >= 1"),
        (guessed((1, 70, -30)), "integer >= 0"),
        (guessed((1, 70.5, 30)), "integer"),
        (guessed((1, True, 30)), "integer"),
        (guessed((1, "many", 30)), "not a number"),
        (guessed((1, 70)), "weight, right, wrong"),
        (guessed((1, 70, 30, 5)), "weight, right, wrong"),
        (guessed((1, 70, 30), (1, 70, 30)), "once"),
        (guessed((11, 70, 30)), "at most 10 "),
        (guessed((1, 10**9, 1)), "at most 1000000000"),
        (guessed((1, 700, 300), offset="1/10"), "without an offset"),
        (guessed((1, 700, 300), counts=[500, 1000, 100, 1000]), "unknown fields"),
        (guessed((1, 700, 300), epsilon="1/4"), "does not imply"),
        ({**guessed((1, 700, 300)), "claim": {"kind": "gaussian", "mu": "1"}}, "does not imply"),
        ({**guessed((1, 700, 300)), "claim": {"kind": "dp", "epsilon": "1", "delta": "1/10"}}, "does not imply"),
    ],
)
def test_unusable_guesses_are_rejected(inputs: dict[str, Any], message: str) -> None:
    with pytest.raises(Rejected, match=message):
        check("audit", inputs)
