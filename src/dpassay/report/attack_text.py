"""What one attack comes to, in words: the same sentences and the same digits in the terminal, HTML and SARIF.

Every function takes an attack as JSON (`attack.schema.json`) or a part of it.
"""

import math
from collections.abc import Mapping
from typing import Any

from dpassay.core.text import nats, several
from dpassay.report.audit_text import number

Attack = Mapping[str, Any]
ATTACKS: Mapping[str, str] = {
    "beta-knn": "Fake accounts make a recommender reveal what a chosen user rated",
    "sketch": "A published sketch of the ratings gives single users away",
    "reconstruction": "Perturbed ratings are turned back into the true ones",
    "presence": "Recommended sets reveal whether a user is in the data",
    "alterego": "A profile mapped to another domain reveals the original one",
}


def quantity(value: float | str | None) -> str:
    """A measured number for people: three decimals near 1, more where a small number needs them, counts whole."""
    if value is None:
        return "\N{EN DASH}"
    real = float(value)
    if math.isnan(real):
        return "not measured"
    if math.isinf(real):
        return "infinite" if real > 0 else "minus infinity"
    if real == round(real):
        return f"{real:,.0f}"
    size = abs(real)
    if size < 0.001:
        return f"{real:.2g}"
    return f"{real:.3f}" if size < 10 else f"{real:.2f}" if size < 100 else f"{real:,.1f}"


def interval(metric: Mapping[str, Any]) -> str:
    """The ends of the 95% interval; empty where there is none."""
    return "" if metric["low"] is None else f"{quantity(metric['low'])} to {quantity(metric['high'])}"


def measured(metric: Mapping[str, Any]) -> str:
    """A metric's value with its interval and the number of independent trials."""
    parts = [f"95% interval {interval(metric)}"] * bool(interval(metric))
    parts += [several(metric["trials"], "trial")] * bool(metric["trials"])
    return quantity(metric["value"]) + (f" ({', '.join(parts)})" if parts else "")


def state(check: Mapping[str, Any]) -> str:
    """What became of a limit: `exceeded`, `kept`, or `not measured`, which does not pass either."""
    if math.isnan(float(check["value"])):
        return "not measured"
    return "exceeded" if check["exceeded"] else "kept"


def check_sentence(attack: Attack, check: Mapping[str, Any]) -> str:
    """One limit and the number it was compared with."""
    metric = next(each for each in attack["metrics"] if each["name"] == check["metric"])
    limit, found = quantity(check["limit"]), state(check)
    if found == "not measured":
        return f"{check['metric']} could not be measured, which does not pass the limit {limit}."
    side = "above" if found == "exceeded" else "not above"
    doubt = ""
    if metric["low"] is not None and float(metric["low"]) <= check["limit"] < float(metric["high"]):
        doubt = " The interval contains the limit: more trials may decide otherwise."
    return f"{check['metric']} is {measured(metric)}, {side} the limit {limit}.{doubt}"


def checks_sentence(attack: Attack) -> str:
    """All limits in one sentence."""
    states = [state(check) for check in attack["checks"]]
    exceeded, unmeasured, total = states.count("exceeded"), states.count("not measured"), len(states)
    if not states:
        return "No limit was set, so this run passes or fails nothing."
    if exceeded:
        share = "its limit is" if total == 1 else f"{exceeded} of {total} limits {'is' if exceeded == 1 else 'are'}"
        return f"The attack succeeds too well: {share} exceeded."
    if unmeasured:
        return f"Not passed: {unmeasured} of {total} limits could not be compared."
    return (
        f"{'The limit is' if total == 1 else f'All {total} limits are'} kept. This does not show the mechanism private."
    )


def dataset_sentence(attack: Attack) -> str:
    """What was attacked, and whether these are real people."""
    data = attack["dataset"]
    if data is None:
        return "The dataset is not recorded."
    size = f"{data['users']:,} users, {data['items']:,} items, {data['ratings']:,} ratings"
    if is_synthetic(attack):
        return f"Synthetic ratings ({size}), drawn by a program: these numbers are about no real people."
    return f"{data['name']}: {size}."


def is_synthetic(attack: Attack) -> bool:
    """Whether the stand-in for data was attacked."""
    return attack["dataset"] is not None and attack["dataset"]["name"] == "synthetic"


def loss(value: float | str | None) -> str:
    """A privacy loss in nats."""
    return "none shown" if value is None else nats(value)


def privacy_sentence(entry: Mapping[str, Any]) -> str:
    """Claimed and found loss, what each permits, and what was seen."""
    claimed = float(entry["epsilon_claimed"])
    delta = f", delta {number(entry['delta'], 3)}" if entry["delta"] else ""
    parts = [
        "nothing is claimed"
        if math.isinf(claimed)
        else f"claimed epsilon {loss(claimed)}{delta} permits an advantage of {quantity(entry['permitted_claimed'])}"
    ]
    if entry["epsilon_found"] is not None:
        found = float(entry["epsilon_found"])
        known = "the loss found is infinite and" if math.isinf(found) else f"the loss found, {loss(found)},"
        parts.append(f"{known} permits {quantity(entry['permitted_found'])}")
    parts.append(
        "the advantage was not measured"
        if entry["advantage"] is None
        else f"seen: {measured(entry['advantage'])}, {judgment(entry)}"
    )
    return "; ".join(parts)


def verdicts_sentence(attack: Attack) -> str:
    """Every claim about the mechanism with its verdict."""
    verdicts = [
        f"{each['id']} {each['outcome']}" + (f" (on {each['dataset']})" if each["dataset"] else "")
        for each in attack["verdicts"]
    ]
    return f"{', '.join(verdicts)}; `dpassay verify --claim ID` judges them again"


def is_above(entry: Mapping[str, Any]) -> bool:
    """Whether the observed advantage, with its interval, is more than the claim permits."""
    seen = entry["advantage"]
    least = seen["value"] if seen["low"] is None else seen["low"]
    return bool(float(least) > entry["permitted_claimed"])


def judgment(entry: Mapping[str, Any]) -> str:
    """How the observed advantage stands to the claim; never that the mechanism is private."""
    seen, limit = entry["advantage"], entry["permitted_claimed"]
    if seen is None or math.isnan(float(seen["value"])):
        return "not measured"
    if float(entry["epsilon_claimed"]) == math.inf:
        return "not limited by any claim"
    if is_above(entry):
        return "more than the claim permits"
    if float(seen["value"]) > limit:
        return "above what the claim permits, but by no more than chance explains"
    return "within what the claim permits, which does not show it true"
