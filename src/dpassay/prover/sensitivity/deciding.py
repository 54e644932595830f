"""`dp.sensitivity`: an upper bound that is proved for every dataset, beside the largest difference found."""

import ast
import functools
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import sympy
from sympy import S

from dpassay.core.errors import InvalidInput
from dpassay.prover.program_text import program_of
from dpassay.prover.sensitivity.aggregates import with_piecewise
from dpassay.prover.sensitivity.bounds import Bounds, Proof, best, settled, ways
from dpassay.prover.sensitivity.hulls import Domain
from dpassay.prover.sensitivity.lengths import short_lengths
from dpassay.prover.sensitivity.queries import at_most as surely_at_most
from dpassay.prover.sensitivity.reading import Read, read, source_of
from dpassay.prover.sensitivity.search import LENGTHS, Runs, Unreturning, Witness
from dpassay.prover.sensitivity.values import NeedsArray, NotUnderstood
from dpassay.prover.stopping import Endless, within
from dpassay.replay import Rejected, seal_own

RELATIONS = {
    "replace_one:entry": False,
    "replace_one:record": False,
    "add_or_remove_one:entry": True,
    "add_or_remove_one:record": True,
}
"""Relation -> whether the neighbor has one entry more."""
SECONDS = 30.0
"""Of the processor, for reading the function, for where it is defined and for a bound, each: SymPy knows no limit."""


@dataclass(frozen=True)
class Sensitivity:
    """How far a function's value moves between neighboring datasets.

    Attributes:
        function: its name.
        relation: between the datasets.
        bounds: of the entries, (low, high).
        upper: a bound of |f(x) - f(x')|, proved for every pair of neighbors that the assumptions allow; a SymPy
            expression in n (entries; of the smaller dataset where one is added) and the parameters. None: no bound.
        lower: the difference of the witness, an exact SymPy number; None if nothing could be run.
        witness: the pair with the largest difference found, or one that exceeds `at_most`.
        at_most: the bound that was asked about, None if none was.
        outcome: "holds", "refuted" or "open" for `at_most`; without it "holds" where an upper bound was proved.
        level: how far a proof went. "whole": the checker of `dpassay replay` read the source by itself and proved the
            bound, with z3 and cvc5. "steps": only the prover has read the source and split it into cases. "": no proof.
        unchecked: why the level is not "whole", "" where it is or there is no proof.
        assumptions: conditions on n and the parameters, and how the source was read.
        reason: why there is no upper bound, "" where there is one.
        certificate: the source, its digest and the steps of the proof (those that an SMT solver proved are as
            `replay.proof` takes them); at level "whole" also "kind" and "inputs" of what `dpassay replay` re-checks.
    """

    function: str
    relation: str
    bounds: tuple[Any, Any]
    upper: Any
    lower: Any
    witness: Witness | None
    at_most: Any
    outcome: str
    assumptions: tuple[str, ...]
    reason: str
    certificate: Mapping[str, Any] = field(repr=False)
    level: str = ""
    unchecked: str = ""

    def __str__(self) -> str:
        claim = f"at most {self.at_most}" if self.at_most is not None else "sensitivity"
        lines = [
            f"{self.function}, {self.relation}, entries in [{self.bounds[0]}, {self.bounds[1]}]: {claim} {self.outcome}"
        ]
        if self.upper is not None:
            lines.append(f"  proved: |f(x) - f(x')| <= {self.upper}")
            lines.append(f"  level: {self.level}, {self._shown()}")
        if self.reason:
            lines.append(f"  no proof: {self.reason}")
        if self.witness is not None:
            pair = self.witness
            given = "".join(f", {name} = {value}" for name, value in pair.parameters.items())
            lines.append(f"  found: {self.lower} (about {float(self.lower):.6g}), n = {pair.n}{given}")
            lines += [f"    x  = {_listed(pair.dataset1)}", f"    x' = {_listed(pair.dataset2)}"]
        if self.assumptions:
            lines.append(f"  assumed: {'; '.join(self.assumptions)}")
        return "\n".join(lines)

    def _shown(self) -> str:
        """How the bound was shown, in words."""
        if self.level == "whole":
            return "proved again from the source by the checker of dpassay replay, with z3 and cvc5"
        return (
            f"the prover's own reading and cases; {len(self.certificate['steps'])} inequalities by z3, the rest by "
            f"enclosures; not proved again from the source: {self.unchecked}"
        )

    def write_certificate(self, path: str | Path) -> None:
        """Writes what `dpassay replay` re-checks from the file alone.

        Raises:
            InvalidInput: the bound was not proved at level "whole".
        """
        if self.level != "whole":
            raise InvalidInput(f"no certificate: {self.unchecked or self.reason or 'no bound was proved'}")
        seal_own(self.certificate["kind"], self.certificate["inputs"]).write(Path(path))


def _listed(data: Sequence[Any]) -> str:
    return f"[{', '.join(map(str, data))}]"


def sensitivity(
    function: Any,
    *,
    relation: str = "replace_one:entry",
    bounds: tuple[Any, Any] | None = (0, 1),
    at_most: Any = None,
    assume: Sequence[str] = (),
    seed: int = 0,
) -> Sensitivity:
    """Bounds how far a function moves when one entry of its dataset changes, for datasets of every length.

    The function is ordinary Python, `function(data, **public parameters)`, and is read, not sampled: what is proved
    holds for every n, every dataset and every value of the parameters that the assumptions allow. It is read over the
    reals: rounding is not part of it. A proof is always confronted with real runs of the function.

    Args:
        function: of a list or array of numbers, and of public numbers. A parameter annotated `int` is an integer; one
            with a default stands for its default, unless `at_most` or `assume` names it.
        relation: "replace_one:entry" or "add_or_remove_one:entry".
        bounds: of each entry; None for all reals.
        at_most: a claimed bound: text in n and the parameters ("2*(n-1)/n"), a number, or SymPy.
        assume: conditions on n and the parameters, as text ("0 <= mu <= 1"); `assert` in the source does the same.
        seed: of the datasets that are tried.

    Returns:
        The bound with its evidence. What is not understood is not guessed: `.upper` is None and `.reason` says why.

    Raises:
        InvalidInput: not a Python function with readable source, an unknown relation, bound or claim, or a function
            that does not return.
    """
    try:
        return _decided(function, relation, bounds, at_most, [assume] if isinstance(assume, str) else assume, seed)
    except Unreturning as unreturning:
        raise InvalidInput(str(unreturning)) from None


def _decided(
    function: Any, relation: str, bounds: tuple[Any, Any] | None, at_most: Any, assume: Sequence[str], seed: int
) -> Sensitivity:
    definition, source, file, _ = source_of(function)
    if relation not in RELATIONS:
        raise InvalidInput(f"relation is {relation!r}: use {' or '.join(sorted(RELATIONS))}")
    interval = _interval(bounds)
    texts = [str(at_most)] if at_most is not None else []
    named = {node.id for text in (*texts, *assume) for node in ast.walk(_tree(text)) if isinstance(node, ast.Name)}
    certificate = {
        "source": source,
        "digest": hashlib.sha256(source.encode()).hexdigest(),
        "relation": relation,
        "bounds": [str(end) for end in interval],
    }
    made = functools.partial(Sensitivity, definition.name, relation, interval)

    def not_read(reason: str) -> Sensitivity:
        lower, witness = _tried(function, interval, RELATIONS[relation], seed)
        claim = None if at_most is None else _expression(str(at_most), _symbols(definition))
        return made(None, lower, witness, claim, "open", (), reason, certificate)

    try:
        understood = within(SECONDS, lambda: _read(function, sorted(named)))
    except NotUnderstood as refused:
        where = f"{file}:{refused.line}: " if refused.line else ""
        return not_read(f"{where}not understood: {refused.reason}")
    except Endless:
        return not_read(f"not read in {SECONDS:g} s")
    names = {"n": understood.n, **understood.parameters}
    claim = None if at_most is None else _expression(str(at_most), names)
    facts = [*understood.assumed, *(_condition(text, names) for text in assume)]

    def asked(length: int) -> list[Any]:
        return [_condition(text, {**names, "n": sympy.Integer(length)}) for text in assume]

    try:
        decision = within(
            SECONDS,
            lambda: _Decision(function, understood, interval, relation, claim, facts, asked, seed, file, certificate),
        )
    except Endless:
        return not_read(f"where it is defined was not found in {SECONDS:g} s")
    return decision.made(made)


def _read(function: Any, named: Sequence[str]) -> Read:
    """The reading for lists; for arrays where it uses what only arrays have."""
    try:
        return read(function, "list", named)
    except NeedsArray as list_refused:
        try:
            return read(function, "array", named)
        except NeedsArray:
            raise list_refused from None


class _Decision:
    """One question, from the reading to the answer."""

    def __init__(
        self,
        function: Any,
        understood: Read,
        interval: Any,
        relation: str,
        claim: Any,
        facts: Any,
        asked: Any,
        seed: int,
        file: str,
        certificate: Any,
    ):
        self.function, self.read, self.interval, self.claim = function, understood, interval, claim
        self.relation, self.grows = relation, RELATIONS[relation]
        self.seed, self.file, self.certificate = seed, file, dict(certificate)
        self.facts, self.undefined = settled(understood.obligations, facts, understood.n, interval)
        added = [fact for fact in self.facts if fact not in facts and fact.free_symbols == {understood.n}]
        self.runs = Runs(function, understood, interval, self.facts, self.grows, seed, added)
        self.short = short_lengths(function, understood, interval, self.runs, asked)
        self.runs.lengths, self.runs.values = set(self.short.values), self.short.values
        self.samples: list[tuple[dict[Any, Any], float, Any, Any]] = []

    def made(self, made: Any) -> Sensitivity:
        self.sampled()
        try:
            proof, reason = within(SECONDS, self.proof)
        except Endless:
            proof, reason = None, f"no bound was proved in {SECONDS:g} s"
        refuting = self.refuting()
        witness = self.widest(refuting)
        conflict = self.conflict(proof, refuting)
        if conflict:
            proof, reason, refuting = None, f"error in this proof, please report it: {conflict}", None
        outcome = "refuted" if refuting else "holds" if proof is not None else "open"
        upper = None if proof is None else _plain(proof.upper, self.read)
        if refuting:
            reason = ""
        self.certificate["steps"] = [] if proof is None else [step for step in proof.steps if step]
        self.certificate["upper"] = None if upper is None else str(upper)
        claim = None if self.claim is None else _plain(self.claim, self.read)
        lower = None if witness is None else witness.difference
        level, unchecked = ("", "") if upper is None else self.checked(upper)
        assumed = self.assumptions()
        return made(upper, lower, witness, claim, outcome, assumed, reason, self.certificate, level, unchecked)

    def checked(self, upper: Any) -> tuple[str, str]:
        """The level of a proof, and why it is not higher; the checker shares nothing with what found the proof."""
        try:
            program = program_of(self.function, noisy=False)
            bounds = None if S.Infinity in self.interval else [str(end) for end in self.interval]
            inputs = {
                "program": {"text": program.text, "entry": program.entry, "data": self.read.kind},
                "parameters": {k: "int" if v.is_integer else "real" for k, v in self.read.parameters.items()},
                "relation": {"kind": self.relation, "bounds": bounds},
                "assume": [f"n >= {self.short.least}"] * (self.short.least > (0 if self.grows else 1))
                + [_condition_text(_plain(each, self.read)) for fact in self.stated() for each in _conjuncts(fact)],
                "bound": str(upper),
            }
            seal_own("sensitivity", inputs)
        except (Rejected, InvalidInput) as refused:
            return "steps", str(refused)
        self.certificate |= {"kind": "sensitivity", "inputs": inputs}
        return "whole", ""

    def stated(self) -> list[Any]:
        """The assumptions; not those on n alone that the proof of short lengths makes needless."""
        added = self.runs.added if self.short.values else ()
        return [fact for fact in self.facts if fact not in added]

    def assumptions(self) -> tuple[str, ...]:
        shown = [str(_plain(fact, self.read)) for fact in self.stated()]
        least = f"n >= {self.short.least} entries" + ", and one more" * self.grows
        whole = [f"{name} is an integer" for name, symbol in self.read.parameters.items() if symbol.is_integer]
        kind = "data is an array" if self.read.kind == "array" else "data is a list"
        return (
            *([] if any("n >=" in text for text in shown) else [least]),
            *shown,
            *whole,
            *self.read.notes,
            kind,
            "arithmetic is exact",
        )

    def sampled(self) -> None:
        for n in sorted({*LENGTHS, *self.short.values}):
            for place, setting in enumerate(self.runs.settings(n)):
                if place >= (6 if n <= 2 else 3):
                    break
                self.runs.conform(n, setting)
                if self.runs.conflicts:
                    return
                try:
                    seen, pair = self.runs.largest(n, setting, 500 if n <= 3 else 260)
                except Exception as error:
                    self.runs.conflicts.append(f"the function raises {type(error).__name__}: {error}")
                    return
                if pair is None:
                    return
                at = {self.read.n: n, **{self.read.parameters[k]: v for k, v in setting.items()}}
                self.samples.append((at, seen, setting, pair))

    def evaluate(self, term: Any, at: Mapping[Any, Any]) -> float:
        names = tuple(sorted(at, key=str))
        value = _compiled(term, names)(
            *(float(at[name]) if not isinstance(at[name], int) else at[name] for name in names)
        )
        return float(value)

    def proof(self) -> tuple[Proof | None, str]:
        if self.undefined:
            duty = self.undefined[0]
            wanted = _readable(duty.condition, self.read)
            return None, f"{self.file}:{duty.line}: not proved to be defined for all data: {wanted}"
        if not self.samples:
            return None, "; ".join(self.runs.conflicts) or "no n and parameters were found that the assumptions allow"
        if self.short.running is not None:
            n = self.short.running
            return None, f"the function runs for n = {n}, of which nothing was proved: assume n >= {n + 1} if it is so"
        domain = Domain(self.interval, self.facts)
        if (at := self.claimless()) is not None:
            return None, f"the claim has no value at n = {at[self.read.n]}"
        if self.claim is not None and self.exceeded():
            return None, "the claim is exceeded"
        found: Proof | None = None
        reason = "no bound was proved"
        for way in ways(self.read.value, domain):
            bounds = Bounds(self.read.value, self.read.n, domain, grows=self.grows, way=way, short=self.short.cases)
            reason = bounds.reason or reason
            if self.claim is not None and (claimed := bounds.proves(self.claim)) is not None:
                return claimed, ""
            other = self.best(bounds)
            found = min(filter(None, (found, other)), key=self.size, default=None)
            if found is not None and self.attained(found):
                break
        if self.claim is None or found is None:
            return found, "" if found is not None else reason
        if domain.below(found.upper, self.claim) and bounds.short_proved(self.claim) is not None:
            return Proof(self.claim, found.steps), ""
        return None, f"the claim was not proved, only {_plain(found.upper, self.read)}"

    def claimless(self) -> Mapping[Any, Any] | None:
        """A sample at which the claim is not a number."""
        for at, *_ in self.samples if self.claim is not None else ():
            try:
                if not math.isfinite(self.evaluate(self.claim, at)):
                    return at
            except (ArithmeticError, ValueError, TypeError):
                return at
        return None

    def exceeded(self) -> bool:
        return any(self.evaluate(self.claim, at) < seen * (1 - 1e-6) - 1e-9 for at, seen, _, _ in self.samples)

    def size(self, proof: Proof) -> float:
        return sum(self.evaluate(proof.upper, at) for at, *_ in self.samples)

    def attained(self, proof: Proof) -> bool:
        return all(self.evaluate(proof.upper, at) <= seen * (1 + 1e-9) + 1e-12 for at, seen, _, _ in self.samples)

    def best(self, bounds: Bounds) -> Proof | None:
        low, high = self.interval
        points = [end for end in (low, high) if end.is_finite]
        if len(points) == 2:
            points.append((low + high) / 2)
        samples = [(at, seen) for at, seen, _, _ in self.samples]
        found = best(bounds, points, samples, self.evaluate)
        return None if found is None or found.upper.has(S.NaN, S.ComplexInfinity, S.Infinity) else found

    def refuting(self) -> Any:
        """A sample whose exact difference exceeds the claim."""
        if self.claim is None or self.undefined or self.runs.conflicts or self.claimless() is not None:
            return None
        ranked = sorted(self.samples, key=lambda each: self.evaluate(self.claim, each[0]) - each[1])
        for sample in ranked[:3]:
            at, seen, setting, pair = sample
            limit = self.claim.subs(
                {k: sympy.Rational(Fraction(v).numerator, Fraction(v).denominator) for k, v in at.items()}
            )
            if self.evaluate(self.claim, at) < seen * (1 - 1e-12):
                witness = self.runs.witness(setting, pair)
                if surely_at_most(witness.difference, limit) is False and math.isclose(
                    float(witness.difference), seen, rel_tol=1e-6, abs_tol=1e-9
                ):
                    return sample, witness
        return None

    def widest(self, refuting: Any) -> Witness | None:
        if refuting:
            return refuting[1]
        if not self.samples:
            return None
        _, _, setting, pair = max(self.samples, key=self._share)
        return self.runs.witness(setting, pair)

    def _share(self, sample: Any) -> tuple[float, float]:
        """How much of the claim a sample's difference is, and the difference."""
        at, seen, _, _ = sample
        limit = 1.0 if self.claim is None or self.claimless() else self.evaluate(self.claim, at)
        return round(seen / limit, 9) if limit > 0 else 0.0, seen

    def conflict(self, proof: Proof | None, refuting: Any) -> str:
        """What contradicts a proof: a run that disagrees with the reading, or a pair beyond the bound."""
        if self.runs.conflicts:
            return "" if self.undefined else self.runs.conflicts[0]
        if proof is None:
            return ""
        for at, seen, _, pair in self.samples:
            if self.evaluate(proof.upper, at) < seen * (1 - 1e-6) - 1e-9:
                return f"{_listed(pair[0])} and {_listed(pair[1])} differ by {seen:.9g}"
        if refuting and self.claim is not None and proof.upper == self.claim:
            return "a claim that was both proved and refuted"
        return ""


@functools.lru_cache(maxsize=5000)
def _compiled(term: Any, names: tuple[Any, ...]) -> Any:
    plain = with_piecewise(term)
    indices = sorted({index for each in plain.atoms(sympy.Sum, sympy.Product) for index in each.variables}, key=str)
    plain = plain.xreplace({index: sympy.Symbol(f"index_{place}") for place, index in enumerate(indices)})
    return sympy.lambdify(names, plain, [{"nearest": round}, "math"])


def _tried(function: Any, interval: Any, grows: bool, seed: int) -> tuple[Any, Witness | None]:
    """The largest difference of a function that was not understood, in runs on floats."""
    for kind in ("list", "array"):
        blind = Read(S.Zero, sympy.Dummy("n", integer=True, positive=True), {}, [], [], [], kind)
        runs = Runs(function, blind, interval, [], grows, seed)
        found: tuple[float, Any] = (-1.0, None)
        try:
            for n in LENGTHS[:4]:
                found = max(found, runs.largest(n, {}, 300), key=lambda each: each[0])
        except Exception:
            pass
        if found[1] is not None:
            one, other, _ = found[1]
            before, after = (_number(Fraction(runs.run(data, {}, {}))) for data in (one, other))
            gap = abs(before - after)
            return gap, Witness(tuple(one), tuple(other), {}, before, after, gap)
    return None, None


# Texts


def _interval(bounds: Any) -> tuple[Any, Any]:
    if bounds is None:
        return S.NegativeInfinity, S.Infinity
    try:
        low, high = (_number(end) for end in bounds)
    except (TypeError, ValueError):
        raise InvalidInput(f"bounds are {bounds!r}: give two numbers, or None for all reals") from None
    if not low < high:
        raise InvalidInput(f"bounds are {bounds!r}: the first must be below the second")
    return low, high


def _number(value: Any) -> Any:
    if value is None:
        raise TypeError
    if isinstance(value, float):
        return (
            S.Infinity
            if value == math.inf
            else S.NegativeInfinity
            if value == -math.inf
            else sympy.Rational(repr(value))
        )
    return sympy.Rational(Fraction(value).numerator, Fraction(value).denominator)


def _tree(text: str) -> ast.Expression:
    try:
        return ast.parse(text.strip().replace("^", "**"), mode="eval")
    except SyntaxError:
        raise InvalidInput(f"{text!r} is no expression: write it as in Python, with n and the parameters") from None


_WORDS: dict[str, Any] = {
    "sqrt": sympy.sqrt,
    "exp": sympy.exp,
    "log": sympy.log,
    "sin": sympy.sin,
    "cos": sympy.cos,
    "atan": sympy.atan,
    "tanh": sympy.tanh,
    "abs": sympy.Abs,
    "Abs": sympy.Abs,
    "max": sympy.Max,
    "Max": sympy.Max,
    "min": sympy.Min,
    "Min": sympy.Min,
    "floor": sympy.floor,
    "ceiling": sympy.ceiling,
    "ceil": sympy.ceiling,
}
_OPERATORS: dict[type, Any] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: a**b,
    ast.FloorDiv: lambda a, b: sympy.floor(a / b),
    ast.Mod: sympy.Mod,
}
_COMPARISONS: dict[type, Any] = {
    ast.Lt: sympy.Lt,
    ast.LtE: sympy.Le,
    ast.Gt: sympy.Gt,
    ast.GtE: sympy.Ge,
    ast.Eq: sympy.Eq,
    ast.NotEq: sympy.Ne,
}


def _expression(text: str, names: Mapping[str, Any]) -> Any:
    """A formula in n and the parameters, read from text.

    Raises:
        InvalidInput: it is none, or has an unknown name.
    """
    constants = {"e": sympy.E, "E": sympy.E, "pi": sympy.pi, "n": sympy.Symbol("n")}

    def of(node: Any) -> Any:
        match node:
            case ast.Constant(value=bool()):
                pass
            case ast.Constant(value=int() | float() as value):
                return _number(value)
            case ast.Name(id=name) if name in names:
                return names[name]
            case ast.Name(id=name) if name in constants:
                return constants[name]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -of(operand)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return of(operand)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](of(left), of(right))
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _WORDS:
                return _WORDS[name](*map(of, arguments))
            case ast.Compare(left=left, ops=ops, comparators=others) if all(type(op) in _COMPARISONS for op in ops):
                sides = [of(left), *map(of, others)]
                return sympy.And(*(_COMPARISONS[type(op)](a, b) for op, a, b in zip(ops, sides, sides[1:])))  # noqa: B905
        raise InvalidInput(
            f"{text!r} has {ast.unparse(node)!r}: use n, the parameters, + - * / **, sqrt, exp, log, max, min, pi, e"
        )

    found = of(_tree(text).body)
    if found.has(S.NaN, S.ComplexInfinity):
        raise InvalidInput(f"{text!r} is not a number")
    return found


def _condition(text: str, names: Mapping[str, Any]) -> Any:
    found = _expression(text, names)
    if not isinstance(found, sympy.logic.boolalg.Boolean):
        raise InvalidInput(f'{text!r} is no condition: write one as "0 <= mu <= 1"')
    return found


def _symbols(definition: ast.FunctionDef) -> dict[str, Any]:
    """The names of a function's parameters, which a claim may have although the function was not understood."""
    arguments = definition.args
    return {
        each.arg: sympy.Symbol(each.arg) for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    }


def _conjuncts(fact: Any) -> Sequence[Any]:
    return fact.args if isinstance(fact, sympy.And) else (fact,)


def _condition_text(fact: Any) -> str:
    """A condition as Python writes it."""
    relational = isinstance(fact, sympy.core.relational.Relational)
    return f"{fact.lhs} {fact.rel_op} {fact.rhs}" if relational else str(fact)


def _plain(term: Any, understood: Read | None = None) -> Any:
    """The term with plain symbols for n and the parameters."""
    if understood is None:
        return term
    swap = {symbol: sympy.Symbol(name) for name, symbol in {"n": understood.n, **understood.parameters}.items()}
    return with_piecewise(term).subs(swap, simultaneous=True)


def _readable(condition: Any, understood: Read) -> str:
    return str(_plain(condition, understood)).replace("_#", "i")
