"""Judges one candidate with every engine that fits its kind.

What decides, and how surely it does:

- maps (`dpassay.check_stability`), accountants (`dpassay.check_accounting`), formulas and noise that is seen to be
  added (`dpassay.check_noise`, `dpassay.scanning.noise`) and programs (`dpassay.prove`) are judged exactly;
- samples (the search for pairs, `dpassay.audit`): a scan's failure probability alpha is split over rounds, and in each
  round over the mechanisms that it judges (`dpassay.scanning.schedule`). The tests of one candidate in one round,
  whatever the pairs, events and looks, accuse a mechanism that keeps its claim with probability at most its share
  (docs/theorems/black-box-audits.md). By the union bound the whole scan accuses any with probability at most alpha.

A claim that does not say which datasets are neighbors is judged under each usual reading with the candidate's whole
share, and counts as violated only where every reading is, be it in different rounds. One of the readings is meant; that
all are refuted implies that this one is, in one of the rounds, which is what the shares of all rounds bound. So the
readings need no split, and it does not matter which of them is meant. A reading that could not be judged counts as not
refuted.
"""

import contextlib
import dataclasses
import inspect
import math
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dpassay.core.claims import Verdict
from dpassay.core.errors import InvalidInput
from dpassay.core.extras import one_line
from dpassay.core.privacy import PrivacyClaim
from dpassay.core.text import nats
from dpassay.prover.problem import STATED
from dpassay.report.dataset_code import dataset_code
from dpassay.scanning.calls import Call, seed_all
from dpassay.scanning.candidates import READ, USUAL, Accounted, Candidate, NotJudged, Pair, Stable
from dpassay.scanning.noise import farthest
from dpassay.scanning.schedule import Turn

Outcome = Literal["violated", "depends on the reading", "not refuted", "holds"]
TRIED = 5  # datasets
CALLS = 64  # of each, at most, until two differ
LOOKING = 1.0  # seconds of them
PAIRS = 60  # of which the noise is looked at
LEAST_SECONDS = 0.5
WIDTH = 11.0  # nats times the root of the samples
_TOLD = (int, float, str, bool, np.generic, np.ndarray)


@dataclass(frozen=True)
class Reading:
    """What was found under one relation.

    Attributes:
        hope: by how much the claim, in its own parameter, may turn out to be broken; None where more samples tell
            nothing.
    """

    relation: str
    outcome: str
    engine: str
    explanation: str
    details: tuple[str, ...] = ()
    code: str = ""
    dataset1: str = ""
    dataset2: str = ""
    epsilon_lower: float | None = None
    hope: float | None = None


@dataclass(frozen=True)
class Judged:
    """A candidate with its outcome, in words and numbers that need nothing else to be understood.

    Attributes:
        claim: in words.
        engine: what decided.
        explanation: one sentence.
        details: lines: event, probabilities, counts.
        code: Python that shows it again; "" where nothing was found.
        readings: relation, outcome and explanation of each reading, where the claim leaves it open.
        seconds: of a processor.
    """

    kind: str
    name: str
    where: str
    source: str
    claim: str
    relation: str
    outcome: Outcome
    engine: str
    explanation: str
    details: tuple[str, ...] = ()
    code: str = field(default="", repr=False)
    dataset1: str = ""
    dataset2: str = ""
    epsilon_lower: float | None = None
    readings: tuple[dict[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """A JSON-able mapping; see `report/scan.schema.json`."""
        content = dataclasses.asdict(self)
        if self.epsilon_lower is not None and math.isinf(self.epsilon_lower):
            content["epsilon_lower"] = "inf"
        return content


@dataclass(frozen=True)
class Found:
    """What the rounds so far found of a candidate."""

    result: Judged | NotJudged
    readings: tuple[Reading, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """A JSON-able mapping of all there is."""
        return {"judged": isinstance(self.result, Judged), **dataclasses.asdict(self)}

    @staticmethod
    def from_json(content: dict[str, Any]) -> "Found":
        """What `to_json` was made of.

        Raises:
            KeyError, TypeError: it was made of nothing.
        """
        kind = Judged if content["judged"] else NotJudged
        return Found(
            kind(**_tuples(content["result"])), tuple(Reading(**_tuples(each)) for each in content["readings"])
        )

    @property
    def hope(self) -> float | None:
        """Of the reading that has least, as all must be refuted; None where a further round tells nothing."""
        hopes = [reading.hope for reading in self.readings if reading.outcome != "refuted"]
        told = [hope for hope in hopes if hope is not None]
        return min(told) if told and len(told) == len(hopes) else None


def _tuples(content: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in content.items()}


def judge(candidate: Candidate, share: float, seconds: float, seed: int) -> Judged | NotJudged:
    """Judges a candidate in a single round that has this share of the failure probability."""
    return judge_round(candidate, Turn(0, share, seconds, seed)).result


def judge_round(candidate: Candidate, turn: Turn, before: Found | None = None) -> Found:
    """Judges a candidate; its code is called here.

    Args:
        candidate: what is judged.
        turn: its share and time; that may be more when a call takes long.
        before: of earlier rounds; what they refuted stays refuted.
    """
    begin = time.process_time()
    engines = {"mechanism": _mechanism, "map": _map, "accountant": _accountant, "formula": _formula}
    seed_all(turn.seed)
    turn = dataclasses.replace(turn, seconds=max(turn.seconds, LEAST_SECONDS))
    try:
        found = engines[candidate.kind](candidate, turn, before)
    except InvalidInput as error:
        found = Found(NotJudged(candidate.name, candidate.where, str(error)))
    except Exception as error:  # the candidate's own, whatever it raises
        flaky = type(error).__name__.startswith("Flaky")  # Hypothesis, of two calls that differ
        said = "two calls on the same data differ" if flaky else _raised(error)
        found = Found(NotJudged(candidate.name, candidate.where, said))
    result = found.result
    if isinstance(result, NotJudged):
        return found if before is None else Found(before.result)
    seconds = time.process_time() - begin
    if before is not None and isinstance(before.result, Judged):
        seconds += before.result.seconds
    return dataclasses.replace(found, result=dataclasses.replace(result, seconds=seconds))


def _found(candidate: Candidate, claim: str, readings: Sequence[Reading]) -> Found:
    """One outcome of all readings."""
    outcomes = [reading.outcome for reading in readings]
    refuted = [reading for reading in readings if reading.outcome == "refuted"]
    outcome: Outcome
    if len(refuted) == len(readings):
        outcome = "violated"
    elif refuted:
        outcome = "depends on the reading"
    else:
        outcome = "holds" if set(outcomes) == {"holds"} else "not refuted"
    judged = [reading for reading in readings if reading.outcome != "not judged"]
    shown = (refuted or judged)[0]
    several = tuple(
        {"relation": each.relation, "outcome": each.outcome, "explanation": each.explanation} for each in readings
    )
    result = Judged(
        candidate.kind,
        candidate.name,
        candidate.where,
        candidate.source,
        claim,
        " and ".join(reading.relation for reading in (refuted or judged) if reading.relation),
        outcome,
        shown.engine,
        shown.explanation,
        shown.details,
        shown.code,
        shown.dataset1,
        shown.dataset2,
        shown.epsilon_lower,
        several if len(readings) > 1 else (),
        candidate.notes,
    )
    return Found(result, tuple(readings))


# --- mechanisms -------------------------------------------------------------------------------------------------------


def _mechanism(candidate: Candidate, turn: Turn, before: Found | None) -> Found:
    if hasattr(candidate.subject, STATED):
        return _program(candidate, turn)
    claim = candidate.claim
    assert isinstance(claim, PrivacyClaim)
    reason = _why_not(candidate, turn.seed) if before is None else ""
    if reason:
        return Found(NotJudged(candidate.name, candidate.where, reason))
    if isinstance(candidate.datasets, Pair) or candidate.relation is not None:
        relations: tuple[str, ...] = (candidate.relation or "",)
    else:
        relations = USUAL
    refuted = {} if before is None else {each.relation: each for each in before.readings if each.outcome == "refuted"}
    seconds = turn.seconds / (len(relations) - len(refuted))
    readings: list[Reading] = []
    problems: list[InvalidInput] = []
    for relation in relations:
        try:
            readings.append(
                refuted.get(relation)
                or _read_as(candidate, claim, relation, dataclasses.replace(turn, seconds=seconds))
            )
        except InvalidInput as error:
            problems.append(error)
            readings.append(Reading(relation, "not judged", "", str(error)))
    if len(problems) == len(readings):
        raise problems[0]
    return _found(candidate, claim.text, readings)


def _why_not(candidate: Candidate, seed: int) -> str:
    """Why a mechanism cannot be judged, by calling it a few times; "" where it can."""
    rng = np.random.default_rng([seed, 0x5CA])
    subject = candidate.subject
    if not isinstance(subject, Call):
        return ""
    datasets = _datasets(candidate, seed)
    told = False
    problem: Exception | None = None
    varies, end = False, time.monotonic() + LOOKING
    for dataset in datasets:
        try:
            outputs = [subject(rng, dataset) for _ in range(2)]
            while not varies and len(outputs) < CALLS and time.monotonic() < end:
                outputs.append(subject(rng, dataset))
                varies = repr(outputs[-1]) != repr(outputs[0])
        except Exception as error:
            problem = error
            continue
        if any(inspect.isawaitable(each) for each in outputs):
            return "it is asynchronous"
        unknown = next((each for each in outputs if not _is_released(each)), None)
        if unknown is not None or all(each is None for each in outputs):
            return f"it gives a {type(unknown).__name__}, of which no released value is known"
        told = True
    if not told and problem is not None:
        return _raised(problem)
    if candidate.source == READ and not varies:
        return "two calls with the same data give the same output: what of it is noise is not known"
    return ""


def _raised(error: Exception) -> str:
    """What was raised and where: in the package, in what it uses, or in ours."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"it raises {type(error).__name__}: {one_line(error)} ({Path(last.filename).name}:{last.lineno})"


def _datasets(candidate: Candidate, seed: int) -> list[Any]:
    if isinstance(candidate.datasets, Pair):
        return list(candidate.datasets)
    from dpassay.auditors.drawing import first_draws

    return first_draws(candidate.datasets, f"{seed} tried", TRIED)


def _is_released(output: Any) -> bool:
    """Numbers, texts and collections of such: what objects hold beside them may be the data themselves."""
    if isinstance(output, list | tuple | set | frozenset):
        return all(map(_is_released, output))
    if isinstance(output, dict):
        return all(map(_is_released, output.values()))
    return output is None or isinstance(output, _TOLD) or hasattr(output, "iloc")


def _read_as(candidate: Candidate, claim: PrivacyClaim, relation: str, turn: Turn) -> Reading:
    """What is found under one relation: by formula where noise is seen to be added, else on samples."""
    end = time.monotonic() + turn.seconds
    found = _by_formula(candidate, claim, relation, turn.seconds / 4, turn.seed)
    if found is not None:
        return found

    def left() -> float:
        return max(end - time.monotonic(), LEAST_SECONDS)

    if isinstance(candidate.datasets, Pair):
        return _on_samples(candidate, claim, candidate.datasets, relation, turn.share, left(), turn.seed)
    from dpassay.auditors.strategy_search import search_strategy

    bits = candidate.representation == "bits"
    part = turn.share / 2 if bits else turn.share
    searched = search_strategy(
        candidate.subject,
        relation,
        candidate.datasets,
        claim=claim,
        failure_probability=part,
        time_limit=left() * (0.6 if bits else 1.0),
        seed=turn.seed,
        remember=False,
    )
    witness = searched.witness
    if witness is None and bits:
        return _on_samples(candidate, claim, Pair(*searched.pair), relation, part, left(), turn.seed)
    if witness is None:
        failed = f"; it gave no output on {searched.failed} of them" if searched.failed else ""
        said = f"none of {searched.tried} neighboring pairs showed more than {claim.text} allows{failed}"
        return Reading(
            relation, "not refuted", "search for pairs", said, hope=_hope(searched.promise, searched.samples)
        )
    event = str(witness.event[0])
    return Reading(
        relation,
        "refuted",
        "search for pairs",
        f"on two neighboring datasets ({relation}) the privacy loss is at least {nats(witness.epsilon)} at delta "
        f"{witness.claim.delta:g}, where {claim.text} is claimed",
        (
            f"event: {event}",
            f"probability at least {math.exp(witness.log_probability1):.4g} on dataset 1, at most "
            f"{math.exp(witness.log_probability2):.4g} on dataset 2",
            *witness.notes[1:2],
        ),
        *_shown(candidate, claim, Pair(witness.dataset1, witness.dataset2)),
        witness.epsilon,
    )


def _by_formula(candidate: Candidate, claim: PrivacyClaim, relation: str, seconds: float, seed: int) -> Reading | None:
    """A violation by noise that is seen to be added; None where nothing is seen."""
    if claim.kind != "dp" or not callable(candidate.subject):
        return None
    from dpassay.accounting.checking import check_noise

    best = farthest(candidate.subject, _pairs(candidate, relation, seconds, seed))
    if best is None or best[2] <= 0 or (best[1].kind == "laplace" and claim.delta > 0 and best[1].under.size > 1):
        return None
    pair, noise, apart = best
    verdict = check_noise(noise.kind, epsilon=claim.epsilon, delta=claim.delta, scale=noise.scale, sensitivity=apart)
    if verdict.outcome != "refuted":
        return None
    law = {"laplace": "Laplace", "gaussian": "Gaussian"}[noise.kind]
    call = f"check_noise({noise.kind!r}, scale={noise.scale!r}, sensitivity={apart!r}, epsilon={claim.epsilon!r}"
    call += f", delta={claim.delta!r})" if claim.delta else ")"
    code, one, two = _shown(candidate, claim, Pair(*pair))
    repair = (f"repair: {verdict.repair}",) if verdict.repair else ()
    return Reading(
        relation,
        "refuted",
        "noise formula",
        f"{law} noise of scale {noise.scale:.6g} is added to values that two neighboring datasets"
        f"{f' ({relation})' if relation else ''} move {apart:.6g} apart, which is not {claim.text}",
        (*_certified(verdict), "seen by calling it with noise of ours; judged exactly, without sampling", *repair),
        f"{code}\nprint(dp.{call})",
        one,
        two,
        verdict.epsilon_lower,
    )


def _certified(verdict: Verdict) -> tuple[str, ...]:
    """What is certain, and the known wrong formula, where it is one."""
    lower, upper = nats(verdict.epsilon_lower), nats(verdict.epsilon_upper)
    among = lower if lower == upper else f"between {lower} and {upper}"
    named = verdict.explanation.partition("; ")[2]
    return (f"certified: the smallest epsilon at this delta is {among}", *([named] if named else []))


def _pairs(candidate: Candidate, relation: str, seconds: float, seed: int) -> list[Pair]:
    if isinstance(candidate.datasets, Pair):
        return [candidate.datasets]
    from dpassay.auditors.drawing import first_draws, learned_neighbors
    from dpassay.auditors.drawn_datasets import RecordRelation

    end = time.monotonic() + seconds
    neighbors = learned_neighbors(candidate.datasets, RecordRelation.parse(relation), seed, end)
    drawn = first_draws(neighbors.pairs(), f"{seed} noise", PAIRS)
    return [Pair(*each) for each in drawn if each.first is not None and each.second is not None]


def _on_samples(
    candidate: Candidate, claim: PrivacyClaim, pair: Pair, relation: str, share: float, seconds: float, seed: int
) -> Reading:
    """An audit of one pair, anytime-valid."""
    from dpassay.auditors.audit import run_audit
    from dpassay.report import audit_text

    audit = run_audit(
        candidate.subject,
        *pair,
        claim=dataclasses.replace(claim, relation=None),
        failure_probability=share,
        time_limit=seconds,
        representation=candidate.representation,
        seed=seed,
        name=candidate.name,
    )
    content = audit.to_json()
    if audit.verdict.outcome == "open":
        raise InvalidInput(audit.verdict.explanation)
    refuted = audit.verdict.outcome == "refuted"
    details = [f"{label}: {text}" for label, text in audit_text.rows(content) if text] if refuted else []
    return Reading(
        relation,
        audit.verdict.outcome,
        "audit of a pair",
        audit_text.headline(content),
        tuple(details),
        *_shown(candidate, claim, pair),
        audit.epsilon_lower,
        hope=_hope((audit.parameter_lower or 0.0) - audit.claim.parameter, audit.samples["total"]),
    )


def _hope(promise: float, samples: int) -> float:
    """How far above the claim a loss may lie whose lower bound on so many samples is this far above it.

    The bound lies below the loss by about half of what is added here, for an event of probability one in ten: what was
    looked at least may still turn out worst (upper confidence bounds; Auer, Cesa-Bianchi and Fischer 2002).
    """
    return promise + 2 * WIDTH / math.sqrt(max(samples, 1))


def _shown(candidate: Candidate, claim: PrivacyClaim, pair: Pair) -> tuple[str, str, str]:
    """Code that audits the pair again, and the pair."""
    subject = candidate.subject
    (one, imports1), (two, imports2) = map(dataset_code, pair)
    lines = [candidate.code] if candidate.code else []
    if isinstance(subject, Call):
        shown = subject.shown()
        needed = [f"import {module}" for module, word in _USED if word in shown]
        lines = [*needed, *lines, "", "def mechanism(rng, data):", f"    return {shown}"]
    stated = _stated(claim)
    stated += ', representation="bits"' if candidate.representation == "bits" else ""
    call = f"print(dp.audit(mechanism, dataset1, dataset2, {stated}))"
    given = [*sorted({*imports1, *imports2}), "import dpassay as dp"]
    return "\n".join([*given, *lines, "", f"dataset1 = {one}", f"dataset2 = {two}", call]), one, two


def _stated(claim: PrivacyClaim) -> str:
    """The claim as arguments of an audit; a curve is the claim of the library's own object."""
    if claim.kind != "dp":
        return "claim=mechanism.claim"
    return f"epsilon={claim.epsilon!r}" + (f", delta={claim.delta!r}" if claim.delta else "")


_USED = (("numpy as np", "np."), ("pandas as pd", "pd."))


def _program(candidate: Candidate, turn: Turn) -> Found:
    """A function that `dp.mechanism_function` marks: a proof or an exact counterexample."""
    from dpassay.prover.proving import run_proof
    from dpassay.report.proof_text import claim as stated
    from dpassay.report.proof_text import shown

    proof = run_proof(candidate.subject, time_limit=turn.seconds, seed=turn.seed)
    content, verdict = proof.to_json(), proof.verdict
    if verdict.outcome == "open":
        reason = f"no proof and no counterexample: {verdict.explanation}"
        return Found(NotJudged(candidate.name, candidate.where, reason))
    told = content["refutation"] or {}
    details = [f"{name}: {told[name]}" for name in ("output", "probability1", "probability2", "loss") if name in told]
    reading = Reading(
        proof.problem.relation,
        verdict.outcome,
        "proof" if verdict.outcome == "holds" else "exact counterexample",
        verdict.explanation,
        tuple(details),
        str(told.get("code", "")),
        shown(told["data1"]) if told else "",
        shown(told["data2"]) if told else "",
    )
    return _found(candidate, stated(content), [reading])


# --- maps, accountants, formulas --------------------------------------------------------------------------------------


def _map(candidate: Candidate, turn: Turn, _: Found | None) -> Found:
    from dpassay.auditors.opendp_maps import is_transformation

    claim = candidate.claim
    assert isinstance(claim, Stable)
    own = is_transformation(candidate.subject)
    open_reading = not own and candidate.relation is None and claim.input_metric is None and candidate.source == READ
    relations = USUAL if open_reading else (candidate.relation,)
    turn = dataclasses.replace(turn, seconds=turn.seconds / len(relations))
    readings = [_own_claim(candidate, turn) if own else _stability(candidate, relation, claim.d_in, turn)
                for relation in relations]  # fmt: skip
    claimed = "its own stability map" if claim.d_out is None else f"outputs at most {claim.d_out} apart"
    return _found(candidate, claimed, readings)


def _own_claim(candidate: Candidate, turn: Turn) -> Reading:
    """A map states a claim for each distance: of the smallest, and of twice that, as rounding may show at one alone."""
    from dpassay.auditors.opendp_maps import smallest_distance

    half = dataclasses.replace(turn, seconds=turn.seconds / 2)
    first = _stability(candidate, None, None, half)
    if first.outcome == "refuted":
        return first
    with contextlib.suppress(InvalidInput):  # its map may refuse the larger one
        second = _stability(candidate, None, 2 * smallest_distance(candidate.subject), half)
        if second.outcome == "refuted":
            return second
    return first


def _stability(candidate: Candidate, relation: str | None, d_in: Any, turn: Turn) -> Reading:
    """What is found at one distance of the datasets."""
    from dpassay.auditors.stability import StabilityWitness, check_stability

    claim = candidate.claim
    assert isinstance(claim, Stable)
    verdict = check_stability(
        candidate.subject,
        d_in=d_in,
        d_out=claim.d_out,
        relation=relation,
        input_metric=claim.input_metric,
        output_metric=claim.output_metric,
        datasets=candidate.datasets,
        time_limit=turn.seconds,
        seed=turn.seed,
    )
    if verdict.outcome == "open":
        raise InvalidInput(verdict.explanation)
    witness: Any = verdict.witness
    shown: tuple[str, ...] = ()
    code, texts = "", ("", "")
    if isinstance(witness, StabilityWitness):
        shown = (f"outputs: {witness.output1!r:.200} and {witness.output2!r:.200}",)
        code = "\n".join(filter(None, [candidate.code, witness.code]))
        texts = (dataset_code(witness.dataset1)[0], dataset_code(witness.dataset2)[0])
    return Reading(relation or "", verdict.outcome, "stability", verdict.explanation, shown, code, *texts)


def _accountant(candidate: Candidate, *_: Any) -> Found:
    from dpassay.accounting.checking import check_accounting

    said: Accounted = candidate.subject()
    if math.isinf(said.epsilon) or math.isnan(said.epsilon):
        raise InvalidInput(f"it says that epsilon is {said.epsilon}, which claims nothing")
    relation = said.relation or candidate.relation or USUAL[0]  # the loss is least of one record added or removed
    claim = PrivacyClaim(said.epsilon, said.delta)
    verdict = check_accounting(said.event, claim=claim, relation=relation, accountants=False)
    if verdict.outcome == "open":
        raise InvalidInput(verdict.explanation)
    told = f"epsilon {nats(said.epsilon)} at delta {said.delta:g}"
    reading = Reading(
        relation,
        verdict.outcome,
        "certified accounting",
        f"it says {told}, {relation}",
        (*_certified(verdict), f"event: {said.event!r}"),
        candidate.code,
        epsilon_lower=verdict.epsilon_lower,
    )
    return _found(candidate, told, [reading])


def _formula(candidate: Candidate, *_: Any) -> Found:
    from dpassay.accounting.checking import check_noise

    given = dict(candidate.subject())
    kind = given.pop("kind")
    verdict = check_noise(kind, **given)
    if verdict.outcome == "open":
        raise InvalidInput(verdict.explanation)
    shown = ", ".join(f"{name}={value!r}" for name, value in given.items())
    code = f"import dpassay as dp\n{candidate.code}\nprint(dp.check_noise({kind!r}, {shown}))"
    repair = (f"repair: {verdict.repair}",) if verdict.repair else ()
    reading = Reading(
        "",
        verdict.outcome,
        "noise formula",
        f"it gives {kind} noise for {shown}",
        (*_certified(verdict), *repair),
        code,
        epsilon_lower=verdict.epsilon_lower,
    )
    claim = PrivacyClaim(given["epsilon"], given.get("delta", 0.0))
    return _found(candidate, claim.text, [reading])
