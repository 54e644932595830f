"""`dp.prove` on mechanisms of the literature, on mutants of them, and on programs that only look private.

No verdict may contradict what is known: a proof of a broken program or of a trap, or a refutation of a correct one, is
marked FAIL, and so is a proof that an audit refutes, and a verdict that calls itself an error of ours. Seconds are
those of the processor, of this process and of those that it started. Beside them stands what CheckDP's authors publish
(Wang, Ding, Kifer and Zhang, CCS 2020): each of its 17 programs within 70 seconds, on another machine.
"""

import ast
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from statistics import median
from typing import Any

from dpassay.benchmarks import dpriv, sensitivity
from dpassay.benchmarks.parts import refuse_unknown
from dpassay.benchmarks.prove_programs import PROGRAMS
from dpassay.benchmarks.prove_programs.record import Program
from dpassay.benchmarks.sensitivity import cpu_seconds
from dpassay.core.errors import InvalidInput
from dpassay.core.privacy import PrivacyClaim
from dpassay.core.progress import Step
from dpassay.core.records import Table
from dpassay.core.text import rounded
from dpassay.runs.kept import Kept
from dpassay.runs.parallel import processors, results_in_parallel

PARTS = ("programs", "traps", "mutants", "infer", "papers", "dpriv", "sensitivity")
TIME_LIMIT = 60.0
PROOF_SECONDS, REFUTATION_SECONDS = 5.0, 10.0
"""Of one core: what takes longer is called slow."""
DECIDED = 0.92
"""The share of the mutants that must be decided."""
QUICK = 8
"""Programs of a part in a quick run."""
AUDIT_SAMPLES = 4000
CHECKDP_SECONDS = 70
INFER_SECONDS, LOSS_SECONDS = 20.0, 8.0
"""Of one core: for the smallest provable bound, and for the largest loss."""
EXACT = 0.98
"""The share of an inferred bound that a loss must reach, for the bound to be called exact."""
Prover = Callable[..., Any]


@dataclass(frozen=True)
class Measured:
    """What was said of one program.

    Attributes:
        outcome: `holds`, `refuted` or `open`; "refused" where its Python was not understood; "error" for an exception.
        seconds: of the processor; of a slow verdict those of the quicker of two runs.
        assuming: what the verdict assumes.
        said: why it is open, refused or an error.
        inferred: the smallest bound that was proved, an expression.
        loss: the largest privacy loss that was met, nats; None where none was looked for.
        allowed: what the inferred bound allows where it was met.
        audited: what an audit said of a proof, or of a mutant that is open, or why nothing; "" where none was asked.
        red: whether the verdict warns of an error of ours.
    """

    outcome: str
    seconds: float
    assuming: tuple[str, ...] = ()
    said: str = ""
    inferred: str = ""
    loss: float | None = None
    allowed: float = math.inf
    audited: str = ""
    red: bool = False


def tables(
    quick: bool,
    seed: int,
    progress: Callable[[str], None],
    parts: Sequence[str] = (),
    prove: Prover | None = None,
    resume: Path | None = None,
) -> list[Table]:
    """A table that sums up, and one for each part.

    Args:
        quick: a few programs of every part.
        seed: of the audits.
        progress: called with a short text as results come.
        parts: some of `PARTS`; all if empty.
        prove: with the arguments of `dp.prove`, which it replaces.
        resume: file of what was said of each program; None keeps nothing.

    Raises:
        InvalidInput: a part that there is not.
    """
    refuse_unknown(parts, PARTS)
    wanted = [part for part in PARTS if part in parts or not parts]
    judged = [part for part in wanted if part not in _ASKED]
    asked_for = [(part, place, seed, prove) for part in judged for place in _places(part, quick)]
    kept = Kept(resume, [], __name__)
    found: dict[tuple[str, int], Measured] = {}
    for part, place, _, _ in asked_for:
        if run := kept.find(_settings(part, place, seed)):
            found[part, place] = Measured(**{**run["measured"], "assuming": tuple(run["measured"]["assuming"])})
    tasks = [task for task in asked_for if task[:2] not in found]
    for number, measured in results_in_parallel(measure, tasks, processors() if prove is None and not quick else 1):
        part, place = tasks[number][:2]
        found[part, place] = measured
        kept.keep(_settings(part, place, seed), {"measured": asdict(measured)})
        name, seconds = _programs(part)[place].name, measured.seconds
        said = f"{name}: {measured.outcome}, {seconds:.1f} s; {len(found)} of {len(asked_for)}"
        progress(Step(said, len(found) / len(asked_for)))
    results = {
        part: [(_programs(part)[task[1]], found[part, task[1]]) for task in asked_for if task[0] == part]
        for part in judged
    }
    asked = [_ASKED[part](quick, progress) for part in wanted if part in _ASKED]
    judgements = {part: rows for part, rows in results.items() if part not in ("infer", "papers")}
    told = [_TABLES[part](rows) for part, rows in results.items()]
    return [*[_summary(judgements)] * bool(judgements), *told, *asked]


def _settings(part: str, place: int, seed: int) -> dict[str, Any]:
    return {"part": part, "program": _programs(part)[place].name, "place": place, "seed": seed}


def measure(part: str, place: int, seed: int, prove: Prover | None = None) -> Measured:
    """One program, proved or refuted; what is proved is audited too."""
    program = _programs(part)[place]
    run = prove or _prove()
    if part == "infer":
        return _inferred(program)
    begin = cpu_seconds()
    try:
        more = {"radius": _judged(program).radius} if part == "papers" else {}
        call = partial(run, program.function, **_stated(program), **more, time_limit=TIME_LIMIT)
        verdict = call()
        seconds = cpu_seconds() - begin
        if seconds > _limit(verdict.outcome):  # what else the machine did, or the program: the quicker of two tells
            begin = cpu_seconds()
            if call().outcome == verdict.outcome:
                seconds = min(seconds, cpu_seconds() - begin)
    except InvalidInput as refused:
        return Measured("refused", cpu_seconds() - begin, said=str(refused))
    except Exception as error:
        return Measured("error", cpu_seconds() - begin, said=f"{type(error).__name__}: {error}")
    looked = (part, verdict.outcome) == ("mutants", "open") or (verdict.outcome == "holds" and part != "papers")
    return Measured(
        verdict.outcome,
        seconds,
        tuple(dict.fromkeys(verdict.assumptions)),
        verdict.explanation if verdict.outcome == "open" else "",
        audited=_audited(program, seed) if looked else "",
        red=bool(verdict.warnings) and verdict.outcome == "open",
    )


def _inferred(program: Program) -> Measured:
    """The smallest bound that is proved, and the largest loss that the search for counterexamples meets beside it."""
    from dpassay.prover.problem import problem_of
    from dpassay.prover.program_text import program_of
    from dpassay.prover.refuter import largest_loss
    from dpassay.prover.search import Failure, infer_bound
    from dpassay.replay import Rejected, check

    begin = cpu_seconds()
    stated = _stated(program)
    try:
        text = program_of(program.function)
        found = infer_bound(text, problem_of(program.function, text, **stated), INFER_SECONDS)
        if isinstance(found, Failure):
            return Measured("open", cpu_seconds() - begin, said=found.reason)
        bound, inputs = found
        check("alignment", inputs)
    except (InvalidInput, Rejected) as refused:
        return Measured("open", cpu_seconds() - begin, said=str(refused))
    seconds = cpu_seconds() - begin
    stated |= {"claim": PrivacyClaim.zcdp(bound)} if program.zcdp else {"epsilon": bound}
    most = largest_loss(program.function, problem_of(program.function, text, **stated), LOSS_SECONDS)
    return Measured("holds", seconds, inferred=bound, loss=most.loss, allowed=most.bound)


def _prove() -> Prover:
    from dpassay.prover.proving import prove

    return prove


def result(program: Program, measured: Measured) -> str:
    """What a verdict is worth: "pass", "slow", "open" or "FAIL"."""
    if measured.red or measured.outcome == "error" or (measured.outcome, measured.audited) == ("holds", "refuted"):
        return "FAIL"
    if {measured.outcome, program.outcome} == {"holds", "refuted"} and not _excluded(program, measured.assuming):
        return "FAIL"
    if measured.outcome not in ("holds", "refuted"):
        return "open"
    return "slow" if measured.seconds > _limit(measured.outcome) else "pass"


def _limit(outcome: str) -> float:
    """Seconds above which a verdict is slow."""
    return {"holds": PROOF_SECONDS, "refuted": REFUTATION_SECONDS}.get(outcome, math.inf)


def _excluded(program: Program, assuming: Iterable[str]) -> bool:
    """Whether a proof of a program that is only broken at these parameters assumes that they are others."""
    return any(_false(condition, program.parameters) for condition in assuming if program.unless)


def _false(condition: str, parameters: Mapping[str, Any]) -> bool:
    try:
        tree = ast.parse(condition, mode="eval")
        return not eval(compile(tree, "<assumption>", "eval"), {"__builtins__": {}}, dict(parameters))
    except Exception:  # words, or names of something else
        return False


def _stated(program: Program) -> dict[str, Any]:
    claim = {"claim": PrivacyClaim.zcdp(program.claim)} if program.zcdp else {"epsilon": program.claim}
    bounds = {} if program.bounds is None else {"bounds": program.bounds}
    return {"relation": program.relation, "assume": program.assume, **claim, **bounds}


def _audited(program: Program, seed: int) -> str:
    from dpassay.benchmarks.prove_programs.audits import audit_program

    try:
        return audit_program(program, AUDIT_SAMPLES, seed).outcome
    except InvalidInput as refused:  # outputs that no audit reads, as a list that holds itself
        return f"unusable: {refused}"


@cache
def _programs(part: str) -> tuple[Program, ...]:
    """The same in every process, so that a place says which program is meant."""
    if part == "programs":
        return PROGRAMS
    if part == "infer":
        return tuple(program for program in PROGRAMS if program.outcome == "holds")
    if part == "traps":
        from dpassay.benchmarks.prove_programs.traps import TRAPS

        return TRAPS
    if part == "papers":
        from dpassay.benchmarks.prove_programs.papers import JUDGED

        return tuple(judged.program for judged in JUDGED)
    from dpassay.benchmarks.prove_programs.mutants import mutants

    return tuple(mutants())


def _places(part: str, quick: bool) -> range:
    number = len(_programs(part))
    return range(0, number, max(1, number // QUICK)) if quick else range(number)


_Rows = list[tuple[Program, Measured]]


def _summary(results: Mapping[str, _Rows]) -> Table:
    columns = ["what", "number", "proved", "refuted", "open", "refused", "contradictions", "decided", "seconds, median",
               "slowest proof", "slowest refutation", "slow", "verdict"]  # fmt: skip
    rows = [_summed(part, rows) for part, rows in results.items()]
    rows.append(["CheckDP's 17, as published (another machine)", 17, "", "", "", "", "", "", "", "", "",
                 f"each within {CHECKDP_SECONDS}", ""])  # fmt: skip
    title = (
        f"Proofs and counterexamples from ordinary Python, seconds of one core; slow: a proof above {PROOF_SECONDS:g}, "
        f"a refutation above {REFUTATION_SECONDS:g}, in the quicker of two runs"
    )
    return Table(title, columns, rows)


def _summed(part: str, rows: _Rows) -> list[Any]:
    outcomes = [measured.outcome for _, measured in rows]
    said = [result(*row) for row in rows]
    decided = sum(outcome in ("holds", "refuted") for outcome in outcomes) / len(rows)
    slowest = {
        outcome: max((measured.seconds for _, measured in rows if measured.outcome == outcome), default=0.0)
        for outcome in ("holds", "refuted")
    }
    failed = "FAIL" in said or (part == "mutants" and decided < DECIDED)
    return [
        part,
        len(rows),
        outcomes.count("holds"),
        outcomes.count("refuted"),
        outcomes.count("open"),
        outcomes.count("refused"),
        said.count("FAIL"),
        f"{decided:.0%}",
        rounded(median(measured.seconds for _, measured in rows)),
        rounded(slowest["holds"]),
        rounded(slowest["refuted"]),
        said.count("slow"),
        "FAIL" if failed else "pass",
    ]


def _program_table(rows: _Rows) -> Table:
    cells: dict[str, Callable[[Any], Any]] = {
        "program": lambda row: row[0].name,
        "relation": lambda row: row[0].relation,
        "claim": lambda row: _claim(row[0]),
        "true": lambda row: row[0].outcome,
        "said": lambda row: row[1].outcome,
        "seconds": lambda row: rounded(row[1].seconds),
        "why not": lambda row: row[1].said[:100],
        "assuming": lambda row: "; ".join(row[1].assuming),
        "known": lambda row: row[0].known,
        "source": lambda row: row[0].source,
        "verdict": lambda row: result(*row),
    }
    return Table.of("Programs of the literature, and broken twins", cells, rows)


def _trap_table(rows: _Rows) -> Table:
    cells: dict[str, Callable[[Any], Any]] = {
        "trap": lambda row: row[0].name,
        "said": lambda row: row[1].outcome,
        "seconds": lambda row: rounded(row[1].seconds),
        "story": lambda row: row[0].function.__doc__,
        "verdict": lambda row: result(*row),
    }
    return Table.of("Programs that look private and are not: none may be proved", cells, rows)


def _mutant_table(rows: _Rows) -> Table:
    """One row for every mutant that was not decided or contradicts; the others are in the summary.

    Nobody says which mutants are private: of one that is open, the row says what an audit and the search for
    counterexamples saw. All that run are counted.
    """
    cells: dict[str, Callable[[Any], Any]] = {
        "mutant": lambda row: row[0].name,
        "change": lambda row: row[0].source.partition(": ")[2],
        "said": lambda row: row[1].outcome,
        "seconds": lambda row: rounded(row[1].seconds),
        "largest loss": lambda row: _largest(row[1].said),
        "audit": lambda row: row[1].audited,
        "why": lambda row: row[1].said.partition("Tried: ")[2][:120] or row[1].said[:120],
        "verdict": lambda row: result(*row),
    }
    undecided = [row for row in rows if result(*row) != "pass"]
    return Table.of("Mutants of the correct programs that were not decided, or slowly", cells, undecided)


def _infer_table(rows: _Rows) -> Table:
    """A bound is exact where a loss of at least `EXACT` of it was met; none may be exceeded."""

    def share(measured: Measured) -> float:
        return measured.loss / measured.allowed if measured.loss is not None else 0.0

    def judged(measured: Measured) -> str:
        if share(measured) > 1 + 1e-6:
            return "FAIL"
        return "pass" if share(measured) >= EXACT else "open"

    cells: dict[str, Callable[[Any], Any]] = {
        "program": lambda row: row[0].name,
        "claim": lambda row: _claim(row[0]),
        "smallest bound proved": lambda row: row[1].inferred,
        "seconds": lambda row: rounded(row[1].seconds),
        "largest loss met": lambda row: "" if row[1].loss is None else rounded(row[1].loss),
        "of": lambda row: "" if row[1].loss is None else rounded(row[1].allowed),
        "share": lambda row: f"{share(row[1]):.0%}" if row[1].loss is not None else "",
        "verdict": lambda row: judged(row[1]),
    }
    exact = sum(judged(measured) == "pass" for _, measured in rows)
    title = f"Bounds inferred: {exact} of {len(rows)} within {1 - EXACT:.0%} of the largest loss met"
    return Table.of(title, cells, rows)


def _papers_table(rows: _Rows) -> Table:
    """The papers' claims: the reviewed verdict, reached by other means, beside what `dp.prove` says of the program."""

    def judged(row: tuple[Program, Measured]) -> str:
        agrees = _judged(row[0]).agrees(row[1].outcome)
        return "FAIL" if agrees == "no" or result(*row) == "FAIL" else "pass" if agrees else "open"

    cells: dict[str, Callable[[Any], Any]] = {
        "claim": lambda row: _judged(row[0]).claim,
        "part": lambda row: _judged(row[0]).part,
        "verdict on the claim": lambda row: _judged(row[0]).verdict,
        "program": lambda row: row[0].name,
        "relation": lambda row: row[0].relation,
        "bound": lambda row: _claim(row[0]),
        "said": lambda row: row[1].outcome,
        "agrees": lambda row: _judged(row[0]).agrees(row[1].outcome),
        "seconds": lambda row: rounded(row[1].seconds),
        "why not": lambda row: row[1].said.partition("Tried: ")[2][:100] or row[1].said[:100],
        "verdict": judged,
    }
    return Table.of("The five papers' mechanisms, proved or refuted from their Python", cells, rows)


def _judged(program: Program) -> Any:
    from dpassay.benchmarks.prove_programs.papers import JUDGED

    return next(judged for judged in JUDGED if judged.program is program)


def _largest(said: str) -> str:
    """The largest loss that the search for a counterexample saw, beside the claim."""
    found = re.search(r"the largest loss was (\S+ of \S+) claimed", said)
    return found[1] if found else ""


def _claim(program: Program) -> str:
    return f"{program.claim}-zCDP" if program.zcdp else program.claim


_TABLES: Mapping[str, Callable[[_Rows], Table]] = {
    "programs": _program_table,
    "traps": _trap_table,
    "mutants": _mutant_table,
    "infer": _infer_table,
    "papers": _papers_table,
}
_ASKED: Mapping[str, Callable[[bool, Callable[[str], None]], Table]] = {
    "dpriv": dpriv.table,
    "sensitivity": sensitivity.table,
}
