"""What one audit comes to, in words: the same sentences and the same digits in the terminal, HTML, SARIF and JUnit.

Every function takes an audit as JSON (`audit.schema.json`).
"""

import inspect
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpassay.core.text import labeled, rounded_up, several, under

Audit = Mapping[str, Any]
RULES: Mapping[str, str] = {
    "claim-refuted": "The mechanism loses more privacy than it claims",
    "representation-leak": "The floating-point representation of the outputs reveals the dataset",
    "same-stream-leak": "The same random stream shows a dependence on the data that no noise hides",
}


SAID = ("The event", "To picture it,")
NO_EVIDENCE = "among those kept from the search, so this is no evidence"
ONE_PAIR = "Only this pair of datasets was judged; another pair may reveal more."


def number(value: float | str | None, digits: int = 6) -> str:
    """A number as every report writes it: six digits, `infinite`, or a dash for None; counts keep all their digits."""
    if value is None:
        return "\N{EN DASH}"
    if isinstance(value, int):
        return f"{value:,}"
    real = float(value)
    if math.isinf(real):
        return "infinite" if real > 0 else "minus infinity"
    return f"{real:.{digits}g}"


def at_least(audit: Audit) -> str:
    """The audit's lower bound in words, such as `epsilon is at least 1.2`."""
    name, lower = audit["parameter_name"], audit["parameter_lower"]
    if lower is None:
        return f"no bound on {name}"
    if float(lower) == math.inf:
        return f"{name} is infinite"
    # A run that stops as soon as the claim falls may have shown no more than that: its grid of bounds is that coarse.
    barely = audit["verdict"]["outcome"] == "refuted" and float(lower) == float(audit["sandwich"]["claim"])
    return f"{name} is {'more than' if barely else 'at least'} {number(lower)}"


def claimed(audit: Audit) -> str:
    """What the claim allows, in words."""
    limit = audit["sandwich"]["claim"]
    if audit["mode"] == "same-stream" and float(limit) == math.inf:
        return "no sensitivity was declared"
    return f"{audit['parameter_name']} at most {number(limit)}"


def drawn(audit: Audit) -> str:
    """How much was sampled, in words."""
    samples = audit["samples"]
    if audit["mode"] == "same-stream":
        return f"{samples['total']:,} random streams, each met by both datasets"
    average = " on average" if any(event.get("guesses") for event in audit["events"]) else ""
    looks = f"; the evidence was looked at {audit['looks']:,} times" if audit["looks"] > 1 else ""
    return (
        f"{samples['total']:,} of each dataset: {samples['training']:,} to learn events, {samples['selection']:,} to "
        f"choose among them, {samples['test']:,}{average} to test them{looks}"
    )


def title(audit: Audit) -> str:
    """The audit's own name where it has one, else the mechanism's."""
    return str(audit.get("name") or audit["mechanism"])


def rule(audit: Audit) -> str | None:
    """The kind of finding, a key of `RULES`; None when the audit found nothing, or what its test expects."""
    if audit["verdict"]["outcome"] != "refuted" or audit.get("expected"):
        return None
    if audit["mode"] == "same-stream":
        return "same-stream-leak"
    return "representation-leak" if audit["representation"] == "bits" else "claim-refuted"


def headline(audit: Audit) -> str:
    """The verdict in one sentence, which never calls a mechanism private."""
    outcome, claim, lower = audit["verdict"]["outcome"], audit["claim"]["text"], audit["parameter_lower"]
    if audit["mode"] == "same-stream":
        return _same_stream_headline(audit)
    if outcome == "refuted":
        shown = "" if lower is None else f": {at_least(audit)}"
        expected = ", as its test expects" if audit.get("expected") else ""
        return f"{audit['mechanism']} is not {claim}{shown}{expected}."
    if outcome == "open":
        return f"Whether {audit['mechanism']} is {claim} stays open."
    bound = "" if lower is None else f" What it showed is that {at_least(audit)}."
    return (
        f"No violation of {claim} was found in {number(audit['samples']['total'])} samples of each dataset.{bound} "
        "This does not show the mechanism private."
    )


def finding(audit: Audit) -> str:
    """What was found, in a paragraph: the verdict, the event and its counts, and how surely."""
    said = [
        f'{words} "{event}" held in {counts}.' for words, (_, event, counts) in zip(SAID, seen(audit), strict=False)
    ]
    return " ".join([headline(audit), *said, guarantee(audit)])


def seen(audit: Audit) -> list[tuple[str, str, str]]:
    """(label, event, counts) of what the verdict rests on, and of what is easier to picture where there is such."""
    event, simple = best_event(audit), audit.get("picture")
    said = [] if event is None else [("event", event["description"], counted(event) + guessed(event))]
    if simple is not None:
        said.append(("picture", simple["description"], f"{counted(simple)}, {NO_EVIDENCE}"))
    return said


def guarantee(audit: Audit) -> str:
    """How surely the verdict is right, and what the probability covers."""
    failure = number(audit["failure_probability"])
    if audit["mode"] == "same-stream":
        return "Both datasets met the same random numbers, so what differs comes from the data alone."
    covers = "both directions, all events, and every moment at which the run may stop"
    if audit["mode"] == "fixed":
        covers = "both directions and all events"
    ledger = "" if audit["ledger"] is None else ", over all runs that share the ledger"
    return f"A correct mechanism is refuted with probability at most {failure}; that covers {covers}{ledger}."


def blind_spots(audit: Audit) -> list[str]:
    """What the audit could not have seen, one sentence each."""
    if audit["mode"] == "same-stream":
        return [
            "Only what differs on equal random numbers was looked for; whether the noise is large enough was not.",
            *([ONE_PAIR] if audit["relation"] is None else []),
        ]
    detectable, claim = audit["detectable"], audit["claim"]["text"]
    chance = number(detectable["probability"])
    smallest, rarest = detectable["smallest_epsilon"], detectable["rarest_event"]
    sentences = []
    if smallest is not None:
        sentences.append(
            f"In an event as frequent as the one tested, a loss of epsilon {rounded_up(smallest):g} would have been "
            f"caught with probability {chance}; a smaller violation of {claim} may have been missed."
        )
    elif rarest is not None:
        sentences.append(
            f"In an event as frequent as the one tested, no violation of {claim} would have been caught with "
            f"probability {chance}."
        )
    else:
        sentences.append(f"No violation of {claim}, however large, would have been caught with probability {chance}.")
    if rarest is not None:
        sentences.append(
            f"An output that only one of the datasets can give may have been missed if its probability is below "
            f"{number(rarest, 2)}, or if it is neither beyond all others nor of a kind of its own."
        )
    if audit["relation"] is None:
        sentences.append(ONE_PAIR)
    if audit["representation"] == "values":
        sentences.append("Outputs were judged as numbers, on a grid far below the noise; their bits were not attacked.")
    return sentences


def next_steps(audit: Audit) -> list[str]:
    """What a person can do now, one imperative sentence each."""
    outcome = audit["verdict"]["outcome"]
    if audit["mode"] == "same-stream":
        if outcome == "refuted":
            return ["Add noise to every part of the output that is named, scaled to the largest change of the answer."]
        return ["Run the same audit without --same-stream: it measures whether the noise suffices."]
    if outcome == "refuted":
        return [
            "Find out why the mechanism makes this event so much likelier on one dataset than on the other.",
            f"Run the same command again for the same numbers (seed {audit['seed']}), another --seed for fresh ones."
            if audit["ledger"] is None
            else "Run the same command again to add fresh samples to the evidence in the ledger.",
        ]
    steps = []
    if audit["ledger"] is None:
        steps.append("Give --ledger FILE: later runs then add to this evidence at the same false-alarm rate.")
    steps.append("Raise --num-samples or --time-limit to see smaller violations and rarer events.")
    if audit["relation"] is None:
        steps.append("Let `dpassay search` look for a pair of datasets that reveals more.")
    if audit["representation"] == "values":
        steps.append("Give --representation bits to attack the floating-point representation as well.")
    return steps


def rows(audit: Audit) -> list[tuple[str, str]]:
    """What stands below the headline where an audit is printed: (label, sentence)."""
    same_stream = audit["mode"] == "same-stream"
    bound = f"{at_least(audit)}; claimed: {audit['claim']['text']}, {claimed(audit)}"
    unbounded = same_stream and audit["parameter_lower"] is None
    return [
        *under("shown", [] if unbounded else [bound]),
        *under("confidence", [guarantee(audit)]),
        *(row for label, event, counts in seen(audit) for row in ((label, event), ("counts", counts))),
        *under("samples", [f"{drawn(audit)}; {audit['seconds']:.3g} s, seed {audit['seed']}"]),
        *under("ledger", [_ledger(audit["ledger"])]),
        *under("note" if same_stream else "warning", audit["warnings"]),
        *under("not seen", [] if audit["verdict"]["outcome"] == "refuted" else blind_spots(audit)),
        *under("next", next_steps(audit)),
    ]


def plain_text(audit: Audit) -> str:
    """The audit as `print` shows it."""
    return labeled(f"{audit['verdict']['outcome'].upper()}  {headline(audit)}", rows(audit))


def _ledger(ledger: Mapping[str, Any] | None) -> str:
    if ledger is None:
        return ""
    runs = several(ledger["runs"], "run")
    evidence, threshold = number(ledger["log_e_value"]), number(ledger["log_threshold"])
    return f"{ledger['path']}: {runs}, evidence {evidence} of the {threshold} nats that refute"


def best_event(audit: Audit) -> Mapping[str, Any] | None:
    """The event with the strongest evidence against the claim; None when none was tested."""
    return max(audit["events"], key=evidence, default=None)


def counted(event: Mapping[str, Any]) -> str:
    """The event's counts in words."""
    parts = []
    for side in (1, 2):
        count, samples = event[f"count{side}"], event[f"samples{side}"]
        rate = f" ({number(count / samples, 3)})" if samples else ""
        parts.append(f"{number(count)} of {number(samples)} samples of dataset {side}{rate}")
    return " and ".join(parts)


def guessed(event: Mapping[str, Any]) -> str:
    """What guesses showed, to follow the event's counts; nothing where there were none."""
    guesses = event.get("guesses")
    return "" if guesses is None else f"; what decides: {guesses['text']}"


def event_loss(event: Mapping[str, Any]) -> float:
    """ln((rate - delta) / other rate) as counted, in nats: no bound; NaN where nothing was counted."""
    likely, other = (1, 2) if event["direction"] == "dataset1" else (2, 1)
    if not event["samples1"] or not event["samples2"]:
        return math.nan
    rate = event[f"count{likely}"] / event[f"samples{likely}"] - event["delta"]
    base = event[f"count{other}"] / event[f"samples{other}"]
    if rate <= 0:
        return math.nan if base == 0 else -math.inf
    return math.inf if base == 0 else math.log(rate / base)


def definition(mechanism: Any) -> dict[str, Any] | None:
    """Where a mechanism is defined, {"file", "line"}: the function it wraps, else its class; None when unknown.

    The file is relative to the working folder when it lies in it, so that it is the same on every machine.
    """
    subject = getattr(mechanism, "function", mechanism)
    while hasattr(subject, "func"):  # functools.partial
        subject = subject.func
    subject = inspect.unwrap(subject) if callable(subject) else subject
    if not (inspect.isfunction(subject) or inspect.ismethod(subject) or inspect.isclass(subject)):
        subject = type(subject)
    try:
        file, line = inspect.getsourcefile(subject), inspect.getsourcelines(subject)[1]
    except (OSError, TypeError):
        return None
    if file is None:
        return None
    path, here = Path(file).resolve(), Path.cwd().resolve()
    return {"file": (path.relative_to(here) if path.is_relative_to(here) else path).as_posix(), "line": max(line, 1)}


def evidence(event: Mapping[str, Any]) -> float:
    """How strongly an event speaks against the claim, nats; to order events by, not to decide."""
    if event["log_e_value"] is not None:
        return float(event["log_e_value"]) + (math.log(event["weight"]) if event["weight"] > 0 else -math.inf)
    if event["p_value"] is not None:
        return -math.log(event["p_value"]) if event["p_value"] > 0 else math.inf
    return -math.inf


def _same_stream_headline(audit: Audit) -> str:
    outcome, streams = audit["verdict"]["outcome"], number(audit["samples"]["total"])
    if outcome == "refuted":
        return f"{audit['mechanism']} reveals the dataset on equal random numbers: {audit['verdict']['explanation']}"
    if outcome == "open":
        return f"Equal random numbers could not be compared: {audit['verdict']['explanation']}"
    return f"Nothing was found on {streams} equal random streams. This does not show the mechanism private."
