"""What floating point does to the privacy of every sampler: the examination that all papers share.

Ideal laws are about real numbers; what runs is made of finitely many floats. Two defects are looked for. A released
float betrays its input when a value that one dataset can give is out of reach for its neighbor (Mironov 2012). A
discrete output drawn through floats is never given when its chance is below the resolution of the uniform numbers, and
that border moves with the data. A sampler of integers and bits alone has neither. Throughout, JAX's generator
(Threefry) is treated as ideal randomness, and running time is not examined.
"""

import functools
import importlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dpassay.auditors.randomness import Randomness, trace
from dpassay.core.claims import Claim, Context, Verdict
from dpassay.core.errors import InvalidInput
from dpassay.core.records import Table
from dpassay.core.registry import expected_outcomes, find_claim, papers
from dpassay.mechanisms import MECHANISMS, describe, mechanism
from dpassay.proofs.decisions import Decider, checked, shown

UNIFORM_BITS = 52
"""`wallenius.uniform` gives odd multiples of 2^-53."""
SLACK = "1e-6"  # nats, for the rounding of logarithms and of log-weights below 1e6
_ = np.nan
_DATASETS = (
    np.array([[5, 3, 4, 1, _, 2], [4, 3, _, 2, 5, 1], [1, _, 5, 4, 2, _], [2, 5, 1, 3, _, 4], [5, 1, 4, 2, 3, 3]]),
    np.array([[1, 0.5, -1, _], [0.25, _, 1, 0]]),
    np.array([5, 1, 0.2, 3, 0.7]),
    np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
)
"""Small datasets on which a sampler is traced; the first that it accepts is taken."""


@dataclass(frozen=True)
class Examination:
    """What floating point does to one registered mechanism.

    Attributes:
        id: of the mechanism.
        variant: of the mechanism.
        output: "floats" or "integers" (sets and masks among them); "" when it could not be traced.
        arithmetic: "none", "integers" or "floats", how random words become the output; "" when not traced.
        sought: the defect looked for.
        finding: what was found, in words.
        passes: whether what runs has the ideal law exactly.
        certificate: {"kind", "inputs"} of a difference that the trusted checker accepted, else None.
    """

    id: str
    variant: str
    output: str
    arithmetic: str
    sought: str
    finding: str
    passes: bool
    certificate: Mapping[str, Any] | None = None


def examine(built: Any) -> Examination:
    """Examines one mechanism of the registry; its parameters are those of the given value.

    Raises:
        InvalidInput: a mechanism outside the registry.
    """
    described = describe(built)
    if not described:
        raise InvalidInput("only registered mechanisms can be examined; register it, or audit it with --representation")
    id, variant = described["id"], described["variant"]
    randomness = _traced(built)
    if randomness is None:
        sought, finding = "how random words become the output", "not examined: no example dataset fits the sampler"
        return Examination(id, variant, "", "", sought, finding, False)
    examination = functools.partial(Examination, id, variant, randomness.output, randomness.arithmetic)
    if randomness.arithmetic == "none":
        return examination("random words", "no random word enters the output", True)
    if randomness.arithmetic == "integers":
        finding = (
            "integers decide every draw, and floats only write the result down, exactly: what runs is the ideal law"
        )
        return examination("floating-point arithmetic on random words", finding, True)
    sought = (
        "a released float that a neighboring dataset cannot give"
        if randomness.output == "floats"
        else "an output of positive ideal chance that is never drawn, on one of two neighboring datasets"
    )
    for certificate in executed_differences(id, variant):
        found = checked(certificate)
        if found is None:
            continue
        epsilon = certificate["inputs"]["mechanism"]["parameters"].get("epsilon")
        at = f"at epsilon {epsilon}: " if epsilon else ""
        return examination(sought, at + found["summary"], False, certificate)
    return examination(sought, _resolution(randomness), False)


def executed_differences(id: str, variant: str) -> list[dict[str, Any]]:
    """Certificates, not yet checked, of outputs that the executed sampler gives on one of two neighbors only."""
    build = _of_every_paper("DIFFERENCES").get((id, variant))
    try:
        return [] if build is None else [{"kind": "floating", "inputs": inputs} for inputs in build()]
    except InvalidInput:
        return []


def executed(ids: Sequence[str], explanation: str, repair: str = "") -> Decider:
    """Refuted by the differences that the checker accepts, one per mechanism; open when there are none."""
    return functools.partial(_decide_executed, ids, explanation, repair)


def _decide_executed(ids: Sequence[str], explanation: str, repair: str, claim: Claim, context: Context) -> Verdict:
    context.progress(f"{claim.id}: examining the samplers of {', '.join(ids)}")
    examinations = [examined(id, variant) for id in ids for variant in MECHANISMS.get(id, {})]
    different = [each for each in examinations if each.certificate is not None]
    if not different:
        findings = (
            "; ".join(f"{each.id} ({each.variant}): {each.finding}" for each in examinations) or "none registered"
        )
        return Verdict(claim.id, "open", f"No difference was shown. Examined: {findings}.", arithmetic="executed")
    tables: tuple[Table, ...] = (examination_table(examinations),)
    evidence = []
    for each in different:
        assert each.certificate is not None
        summary = f"{each.id} ({each.variant}): {each.finding}."
        evidence.append(shown(summary, each.certificate, tables=tables))
        tables = ()
    return Verdict(
        claim.id,
        "refuted",
        explanation,
        evidence=tuple(evidence),
        epsilon_lower=math.inf,
        arithmetic="executed",
        assumptions=("JAX's generator (Threefry) is treated as ideal randomness",),
        repair=repair,
    )


@functools.cache
def examined(id: str, variant: str) -> Examination:
    """The examination of one variant with its default parameters."""
    return examine(mechanism(id, variant))


def examination_table(examinations: Sequence[Examination]) -> Table:
    """Each sampler beside the claim on its ideal law."""
    rows = []
    for each in examinations:
        claim, outcome = _ideal(each.id, each.variant)
        deployable = outcome == "holds" and each.passes
        rows.append(
            [each.id, each.variant, claim, outcome, each.arithmetic, each.finding, "yes" if deployable else "no"]
        )
    columns = ["mechanism", "variant", "claim on the ideal law", "outcome", "random words", "as executed", "deployable"]
    title = "Executed code: deployable when the ideal claim holds and what runs has that law"
    return Table(title, columns, rows)


def parameters(id: str, variant: str, **changed: Any) -> dict[str, Any]:
    """{"id", "variant", "parameters"} as certificates write it."""
    described = describe(mechanism(id, variant, **changed))
    parameters = {
        name: str(Fraction(str(value))) if isinstance(value, float) else value
        for name, value in described["parameters"].items()
    }
    return {**described, "parameters": parameters}


def difference(form: str, built: Mapping[str, Any], relation: str, *datasets: Any, **own: Any) -> dict[str, Any]:
    """Inputs of a `floating` certificate."""
    return {
        "form": form,
        "mechanism": dict(built),
        "relation": relation,
        "dataset1": datasets[0],
        "dataset2": datasets[1],
        "supports": "refuted",
        **own,
    }


def gumbel_difference(built: Mapping[str, Any], relation: str, *datasets: Any, output: int) -> dict[str, Any]:
    """Inputs of a certificate that Gumbel noise from 52-bit uniform numbers never gives the output on one side."""
    return difference("gumbel", built, relation, *datasets, output=[output], bits=UNIFORM_BITS, slack=SLACK)


def _ideal(id: str, variant: str) -> tuple[str, str]:
    """The claim about the ideal law, and its reviewed outcome."""
    claim = _of_every_paper("IDEAL").get((id, variant), "")
    if find_claim(claim) is None:
        return "none", ""
    outcomes = expected_outcomes().get(claim, {})
    return claim, outcomes.get("", next(iter(outcomes.values()), "not reviewed"))


@functools.cache
def _of_every_paper(name: str) -> dict[tuple[str, str], Any]:
    """IDEAL or DIFFERENCES of all papers' `representation`, which are looked up by name as their deciders are."""
    modules = (
        importlib.import_module(f"dpassay.proofs.{paper.replace('-', '_')}.representation") for paper in papers()
    )
    return {subject: value for module in modules for subject, value in getattr(module, name).items()}


def _traced(built: Any) -> Randomness | None:
    for dataset in _DATASETS:
        try:
            return trace(built, dataset)
        except (InvalidInput, TypeError, ValueError, IndexError):
            continue
    return None


def _resolution(randomness: Randomness) -> str:
    """What finite resolution means where no difference is on file."""
    if randomness.output == "floats":
        return "rounded noise is released; no difference is on file for this variant, and nothing rules one out"
    if "log" in randomness.functions and {"argmax", "sort", "top_k"} & set(randomness.functions):
        return (
            "noise from 52-bit uniform numbers is bounded (Gumbel spans 40.3 nats, Laplace 73.5 scales): what trails "
            "by more is never drawn; no pair of datasets is on file for this variant"
        )
    return (
        "52-bit uniform numbers meet rounded chances: what has a chance below 2^-53 is never drawn; no pair of "
        "datasets is on file for this variant"
    )
