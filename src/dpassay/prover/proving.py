"""`dp.prove`: a proof for every input, or an exact counterexample, from a mechanism's source.

What finds a proof is not trusted. A verdict `holds` needs all of: an alignment that the checker of `dpassay.replay`
accepts, which reads the program again by itself; runs of the function itself that its reading reproduces from the same
noise; and a search for a counterexample, by running the function itself on symbolic noise, that finds none. A verdict
`refuted` needs a counterexample whose probabilities the checker computes again, exactly. If both are there, one of us
is wrong, and the verdict is `open`.
"""

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpassay.core.claims import Evidence, Verdict
from dpassay.core.errors import InvalidInput
from dpassay.core.extras import require
from dpassay.core.privacy import PrivacyClaim
from dpassay.core.text import page
from dpassay.core.version import __version__
from dpassay.prover.problem import Problem, problem_of
from dpassay.prover.program_text import Program, program_of
from dpassay.prover.stopping import CLOCK, RUN_SECONDS, Endless, within
from dpassay.report.proof_text import shown
from dpassay.runs.parallel import results_in_parallel, usable_executor

if TYPE_CHECKING:
    from dpassay.prover.refuter import Refuter

CONFORMING_RUNS = 20  # of the function, whose outputs the checker's reading must give from the same noise
FIRST_LOOK = 1.5  # seconds for a counterexample before a proof is looked for
SECOND_LOOK = 3.0  # seconds for a counterexample to what is proved, or for a proof of what is refuted
ALIGNMENT, INTEGRATION = "alignment", "integration"
_REPORT = "This is an error of ours: please report it with the program."
_PROVED = "{conditions} conditions of an alignment of the two runs' noise, each decided by z3 and by cvc5."
_NUMBERS = (
    "Numbers are real numbers, compared by value: rounding, overflow (that of NumPy's 64-bit integers, too), the sign "
    "of zero, and whether a number is an int or a float, are left aside."
)
_BROKEN = (
    "The output {output} has probability {probability1} on one list and {probability2} on its neighbor: a loss of "
    "{loss}, where at most {allowed} is claimed."
)
_THEOREM = {
    "name": "the alignment theorem",
    "source": page("theorems/alignments.md"),
    "statement": "If the second run gives the same output, whenever its noise is the first's shifted by amounts that "
    "depend on the data, the discrete trace and earlier noise alone, then the loss is at most what the shifts cost.",
    "hypotheses": {"the shifts are of that kind and keep trace and output": "the conditions"},
}


@dataclass(frozen=True)
class Proof:
    """Everything that one call found; `verdict` is the short form, `to_json()` what reports are made of.

    Attributes:
        verdict: `holds`, `refuted` or `open`.
        program: the text that was judged.
        problem: the claim.
        alignment: the certificate's inputs and what the checker says of them, where one was accepted.
        refutation: the same for a counterexample, with "code" that runs it.
        inferred: the smallest bound that was proved, "" where none was asked for or found.
        largest_loss: the largest loss that was found, in words.
        tried: what was tried, in order.
    """

    verdict: Verdict
    program: Program
    problem: Problem
    alignment: Mapping[str, Any] | None = field(default=None, repr=False)
    refutation: Mapping[str, Any] | None = field(default=None, repr=False)
    inferred: str = ""
    largest_loss: str = ""
    tried: tuple[str, ...] = ()
    seconds: float = field(default=0.0, repr=False)
    command: str = field(default="", repr=False)

    def __str__(self) -> str:
        from dpassay.report.proof_text import plain_text

        return plain_text(self.to_json())

    @property
    def certificate(self) -> dict[str, Any] | None:
        """The body of what `replay` re-checks; None for `open`."""
        if self.verdict.outcome == "open":
            return None
        proved = self.verdict.outcome == "holds"
        kind, found = (ALIGNMENT, self.alignment) if proved else (INTEGRATION, self.refutation)
        assert found is not None
        return {"kind": kind, "inputs": found["inputs"]}

    def to_json(self) -> dict[str, Any]:
        """A JSON-able mapping, described by `report/proof.schema.json`."""
        place = self.program.place(self._first_line())
        file, _, line = place.rpartition(":")
        return {
            "format": "dpassay-proof",
            "version": 1,
            "program": f"dpassay {__version__}",
            "command": self.command,
            "mechanism": self.program.entry,
            "location": {"file": file, "line": int(line)},
            "text": self.program.text,
            "neighbors": self.problem.neighbors(),
            "claim": {"notion": self.problem.notion, "bound": self.problem.bound},
            "verdict": {**self.verdict.to_json(), "warnings": list(self.verdict.warnings)},
            "alignment": None if self.alignment is None else _shown(self.alignment),
            "refutation": None if self.refutation is None else _told(self.refutation),
            "inferred": self.inferred,
            "largest_loss": self.largest_loss,
            "tried": list(self.tried),
            "seconds": self.seconds,
        }

    def _first_line(self) -> int:
        return self.program.places[-1][0]


_ALIGNED = ("shifts", "coins", "selections", "loops", "lists", "free", "prophecies")


def _shown(alignment: Mapping[str, Any]) -> dict[str, Any]:
    inputs = alignment["inputs"]
    return {name: inputs[name] for name in _ALIGNED if inputs.get(name)} | {
        "conditions": alignment["result"]["conditions"]
    }


def _told(refutation: Mapping[str, Any]) -> dict[str, Any]:
    inputs = refutation["inputs"]
    kept = {"data1": inputs["data1"], "data2": inputs["data2"], "values": _parameters(inputs["values"])}
    return kept | _figures(refutation) | {"code": refutation["code"]}


def _parameters(values: Mapping[str, Any]) -> dict[str, str]:
    """The parameters' values as texts."""
    return {name: shown(value) for name, value in values.items()}


def _figures(refutation: Mapping[str, Any]) -> dict[str, str]:
    """The event and the numbers of a counterexample, for people."""
    inputs, result = refutation["inputs"], refutation["result"]
    shown = result.get("divergence", result["log_ratio"])
    return {
        "output": _event(inputs["output"]),
        "probability1": _digits(result["probability1"]),
        "probability2": _digits(result["probability2"]),
        "loss": "infinite" if shown == "inf" else _digits(shown),
        "allowed": _digits(result["bound"]),
    }


def _digits(enclosure: Sequence[str]) -> str:
    """An enclosure's digits, those at which its ends agree and six at most."""
    ends = [Fraction(end) for end in enclosure]
    low, high = ((Decimal(end.numerator) / end.denominator).normalize() for end in ends)  # floats end at 1e-308
    digits = next((digits for digits in range(6, 0, -1) if f"{low:.{digits}g}" == f"{high:.{digits}g}"), 0)
    return f"{low:.{digits}g}" if digits else f"{low:.6g} to {high:.6g}"


def _event(event: Any) -> str:
    """An event of a certificate in words."""
    if isinstance(event, list):
        return f"[{', '.join(map(_event, event))}]"
    if not isinstance(event, dict):
        return repr(event)
    low, high = event["between"]
    if low is None or high is None:
        return "any number" if low == high else f"a number {'up to' if low is None else 'from'} {low or high}"
    return low if low == high else f"a number from {low} to {high}"


def prove(
    function: Callable[..., Any],
    *,
    relation: str | None = None,
    epsilon: float | str | None = None,
    assume: Sequence[str] = (),
    infer: bool = False,
    time_limit: float = 60,
    bounds: tuple[Any, Any] | None = None,
    radius: float | str | None = None,
    records: int | str | None = None,
    claim: PrivacyClaim | None = None,
    seed: int = 0,
) -> Verdict:
    """Proves a mechanism's privacy claim for every input, or refutes it exactly, from its source.

    The mechanism is an ordinary function `f(rng, data, **public parameters)`: `rng` a numpy Generator, `data` a list of
    numbers. Its real arithmetic is ideal. What the source may contain is in docs/how-to/prove.md.

    Args:
        function: a plain Python function with its source at hand.
        relation: which lists are neighbors: "one_query" (one entry changes by at most 1), "all_queries" (every entry
            does), "monotone_queries" (every entry, all up or all down), "replace_one:entry",
            "add_or_remove_one:entry", "replace_one:user", "add_or_remove_one:user".
            Optional when the function is decorated with `dp.mechanism_function`.
        epsilon: the claim, nats: an expression in the parameters or a number; the parameter `epsilon` by default.
        assume: conditions on the parameters, such as "c >= 1".
        infer: also find the smallest bound that can be proved, and the largest loss.
        time_limit: seconds of CPU time; by the clock at most three times as many, so that a busy machine decides as
            much as an idle one.
        bounds: the least and the largest entry: numbers or names of parameters.
        radius: how much an entry may change where the relation says "at most 1".
        records: how many entries one user may have where the relation is about users, wherever they stand in the list:
            a number or the name of an int parameter. Proved of one entry at a time (group privacy).
        claim: another claim instead of epsilon: `dp.PrivacyClaim.zcdp("rho")` or `dp.PrivacyClaim.gaussian("mu")`.
        seed: of the runs that the checker's reading is compared with.

    Returns:
        `holds` (for all lengths and all parameters that meet `Verdict.assumptions`), `refuted`, or `open`, which says
        what was tried or which line is not understood.

    Raises:
        InvalidInput: no relation or no claim, or a function whose source cannot be had.
    """
    from dpassay.report.progress import in_notebooks

    with in_notebooks(getattr(function, "__name__", "the proof"), time_limit, spending()) as progress:
        return run_proof(
            function,
            relation=relation,
            epsilon=epsilon,
            assume=assume,
            infer=infer,
            time_limit=time_limit,
            bounds=bounds,
            radius=radius,
            records=records,
            claim=claim,
            seed=seed,
            progress=progress,
        ).verdict


def run_proof(
    function: Callable[..., Any],
    *,
    infer: bool = False,
    time_limit: float = 60,
    seed: int = 0,
    command: str = "",
    progress: Callable[[str], None] = lambda _: None,
    **stated: Any,
) -> Proof:
    """`prove`, with everything that was found.

    Arguments and errors are those of `prove`, and the `command` that runs this again, for the reports, and `progress`,
    called with a short text when a step advances.
    """
    if not time_limit > 0:
        raise InvalidInput(f"time limit is {time_limit:g}; give a number of seconds above 0")
    if seed < 0:
        raise InvalidInput(f"seed is {seed}; give a whole number from 0 on")
    require("prove")
    begin, spent = time.monotonic(), spending()

    def left() -> float:
        return max(0.0, time_limit - spent())

    def left_by_clock() -> float:
        """For what decides nothing."""
        return min(left(), max(time_limit - (time.monotonic() - begin), SECOND_LOOK))

    from dpassay.prover.refuter import Refuter

    program = program_of(function)
    problem = problem_of(function, program, **stated)
    refuter = Refuter(function, problem)
    progress("looking for a counterexample")
    refutation, unrefuted = _refuted(refuter, min(left() / 4, FIRST_LOOK))
    alignment, unproved, differing = None, "", ""
    if not refuter.unreturned:
        progress("looking for a proof")
        alignment, unproved = _aligned(program, problem, min(left() / 2, SECOND_LOOK if refutation else left()))
    proved = alignment is not None
    if proved:
        progress("comparing the reading with runs of the function")
        try:
            differing = _differing(function, program, problem, seed)
        except Endless as endless:
            alignment, unproved = None, f"a proof by alignment, which is not compared with runs: {endless}"
    if refutation is None and not refuter.unreturned:
        progress("looking for a counterexample")
        seconds = min(left(), max(0.0, SECOND_LOOK - FIRST_LOOK) if proved else left())
        refutation, unrefuted = _refuted(refuter, seconds)
    if refutation is None and refuter.unreturned:
        alignment, unproved = None, ""
    inferred = loss = ""
    if infer and not refuter.unreturned:
        progress("looking for the smallest bound")
        inferred = _smallest(program, problem, left_by_clock() / 2)
        progress("looking for the largest loss")
        loss = _largest(function, problem, left_by_clock())
    return Proof(
        _verdict(program, problem, alignment, refutation, differing, (unproved, unrefuted), inferred, loss),
        program,
        problem,
        alignment,
        refutation,
        inferred,
        loss,
        tuple(filter(None, (unproved, unrefuted))),
        time.monotonic() - begin,
        command,
    )


def run_proofs(
    functions: Sequence[Callable[..., Any]],
    *,
    executor: Executor | None = None,
    progress: Callable[[str], None] = lambda _: None,
    **settings: Any,
) -> list[Proof]:
    """`run_proof` of several functions under the same claim, each by itself.

    Args:
        functions: in the order of the result; each has the whole time limit.
        executor: shares them out over other processes, which import the functions' modules; None does all here.
        progress: called with a short text.
        settings: of `run_proof`.

    Raises:
        InvalidInput: of any of them, or the executor cannot do what it was given.
    """
    if executor is None:
        return [run_proof(each, progress=_named(each, progress, len(functions)), **settings) for each in functions]
    found: dict[int, Proof] = {}
    tasks = [(each,) for each in functions]
    for number, proof in results_in_parallel(partial(run_proof, **settings), tasks, usable_executor(executor)):
        found[number] = proof
        progress(f"{len(found)} of {len(functions)} judged")
    return [found[number] for number in range(len(functions))]


def _named(function: Callable[..., Any], progress: Callable[[str], None], count: int) -> Callable[[str], None]:
    """Says of which of several it is."""
    return progress if count == 1 else lambda text: progress(f"{function.__name__}: {text}")


def _aligned(program: Program, problem: Problem, seconds: float) -> tuple[dict[str, Any] | None, str]:
    """An alignment that the checker accepts, or why there is none."""
    from dpassay.prover.search import find_alignment

    found = find_alignment(program, problem, seconds)
    if not isinstance(found, Mapping):
        return None, f"a proof by alignment: {found.reason}"
    return _checked(ALIGNMENT, found, "a proof by alignment, which the checker did not accept")


def spending() -> Callable[[], float]:
    """Seconds of a time limit that are spent from now on: of CPU time, or by the clock over `CLOCK`."""
    begin, begun = time.monotonic(), _processor()
    return lambda: max(_processor() - begun, (time.monotonic() - begin) / CLOCK)


def _processor() -> float:
    """CPU time of this process and of those that it waited for, seconds."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _refuted(refuter: "Refuter", seconds: float) -> tuple[dict[str, Any] | None, str]:
    """A counterexample that the checker confirms, or what was looked at."""
    from dpassay.prover.refuter import reproduction_code

    found = refuter.search(seconds)
    if found.inputs is None:
        return None, f"a counterexample: {found.tried}"
    refutation, why = _checked(INTEGRATION, found.inputs, "a counterexample, which the checker did not confirm")
    if refutation is None:
        return None, why
    function, entry = refuter.function, refuter.program.entry
    imported = "" if function.__module__ == "__main__" else f"from {function.__module__} import {entry}\n"
    code = imported + reproduction_code(found.inputs)
    return {**refutation, "code": code}, why


def _smallest(program: Program, problem: Problem, seconds: float) -> str:
    """The smallest bound that the search finds and the checker accepts; "" if there is none."""
    from dpassay.prover.search import infer_bound

    found = infer_bound(program, problem, seconds)
    if not isinstance(found, tuple):
        return ""
    bound, inputs = found
    return bound if _checked(ALIGNMENT, inputs, "")[0] is not None else ""


def _largest(function: Callable[..., Any], problem: Problem, seconds: float) -> str:
    """The largest loss that the search for counterexamples met, in words; "" if it met none."""
    from dpassay.prover.refuter import largest_loss

    found = largest_loss(function, problem, seconds, clock=1)
    if not found.loss > 0:
        return ""
    where = " and ".join(data[0] if problem.single else shown(data) for data in (found.data1, found.data2))
    given = ", ".join(f"{name} = {value}" for name, value in _parameters(found.values).items())
    loss = "infinite" if found.loss == math.inf else f"{found.loss:.4g}"
    return f"{loss} nats on {where}{given and f' with {given}'}, of {found.bound:.4g} claimed there"


def _checked(kind: str, inputs: Mapping[str, Any], refused: str) -> tuple[dict[str, Any] | None, str]:
    from dpassay.replay import Rejected, check

    try:
        return {"inputs": inputs, "result": check(kind, inputs)}, ""
    except Rejected as rejected:
        return None, f"{refused}: {rejected}"


def _differing(function: Callable[..., Any], program: Program, problem: Problem, seed: int) -> str:
    """How the checker's reading differs from a run of the function on the same noise; "" if it does not.

    Raises:
        Endless: the function does not return.
    """
    from dpassay.prover.conformance import conforms, inputs_like

    random = np.random.default_rng(seed)
    for data, parameters in inputs_like(problem, random, CONFORMING_RUNS):
        try:
            differs = within(RUN_SECONDS, partial(conforms, function, program, data, parameters, random))
        except Endless:
            where = f"on {data} with {parameters}"
            raise Endless(f"{program.entry} had not returned after {RUN_SECONDS:g} s {where}") from None
        if differs:
            return f"on {data} with {parameters}: {differs}"
    return ""


def _verdict(
    program: Program,
    problem: Problem,
    alignment: dict[str, Any] | None,
    refutation: dict[str, Any] | None,
    differing: str,
    tried: Sequence[str],
    inferred: str,
    loss: str,
) -> Verdict:
    """What the findings come to; where they contradict each other, nothing."""
    name, assumed = program.entry, problem.assume
    met = loss and f" The largest loss that was found: {loss}."
    if differing:
        words = f"Our reading of the program gives another output than the program from the same noise, {differing}."
        return Verdict(name, "open", words, assumptions=assumed, warnings=(f"{words} {_REPORT}",))
    if alignment is not None and refutation is not None:
        words = "A proof and a counterexample were both found and both checked, so one of the checkers is wrong."
        return Verdict(name, "open", words, assumptions=assumed, warnings=(f"{words} {_REPORT}",))
    if alignment is not None:
        evidence = Evidence("proof", _PROVED.format(**alignment["result"]), {"kind": ALIGNMENT, **alignment})
        words = f"Proved for all {problem.proved_for()}: {evidence.summary} {_NUMBERS}{met}"
        return Verdict(
            name,
            "holds",
            words,
            (evidence,),
            assumptions=assumed,
            level="steps",
            rests_on=(_THEOREM,),
            epsilon_inferred=inferred,
        )
    if refutation is not None:
        evidence = Evidence("witness", _BROKEN.format(**_figures(refutation)), {"kind": INTEGRATION, **refutation})
        return Verdict(name, "refuted", f"{evidence.summary}{met}", (evidence,), assumptions=assumed, level="whole")
    words = f"Neither a proof nor a counterexample was found. Tried: {'; '.join(filter(None, tried))}.{met}"
    return Verdict(name, "open", words, assumptions=assumed, epsilon_inferred=inferred)
