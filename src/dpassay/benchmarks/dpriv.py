"""DPriv-Bench's first category (Wang et al. 2026, arXiv:2604.15851): 588 claims, each proved or refuted.

Six mechanisms release one of 49 functions, each once with the right noise and once with half of it. The right noise is
a theorem about the mechanism and the function's sensitivity D, which is proved of its Python (`dp.sensitivity`). Half
the noise is refuted by a pair of datasets on which the function differs by D exactly:
- noise on the value: the loss is as large as D times the noise says, twice epsilon or rho, root two times beta;
- selection: column 1 is the one dataset and the others are the other, and the neighbor swaps them (one row changes);
  the output is 1. With u = D / scale = epsilon and E = e^epsilon the probabilities are in `SELECTIONS`, and each
  refutation is an inequality in E that SMT solvers prove for every epsilon > 0.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy

from dpassay.benchmarks.dpriv_functions import FUNCTIONS
from dpassay.core.progress import told
from dpassay.core.records import Table
from dpassay.prover.sensitivity.deciding import Sensitivity, sensitivity
from dpassay.prover.sensitivity.queries import at_most, proved

TITLE = "DPriv-Bench: 49 functions, six mechanisms, the right noise and half of it"


@dataclass(frozen=True)
class Template:
    """A mechanism of the benchmark.

    Attributes:
        name: the benchmark's file.
        noise: the right noise for sensitivity D.
        theorem: why the right noise keeps the claim.
        columns: d of the refutation with half the noise; 1 where the function itself is released.
        loss: what the release with half the noise costs on a pair that attains D, for the claim's epsilon, rho or beta.
    """

    name: str
    noise: str
    theorem: str
    columns: int
    loss: str


TEMPLATES = (
    Template(
        "Laplace_pureDP", "Laplace(D/epsilon)", "Dwork, McSherry, Nissim, Smith 2006, Proposition 1", 1, "2 epsilon"
    ),
    Template("Gaussian_zCDP", "N(0, D^2/(2 rho))", "Bun, Steinke 2016, Proposition 1.6", 1, "2 rho"),
    Template("Gaussian_GDP", "N(0, D^2/beta^2)", "Dong, Roth, Su 2022, Theorem 1", 1, "sqrt(2) beta"),
    Template("ExpoMech_pureDP", "Gumbel(2D/epsilon)", "McSherry, Talwar 2007, Theorem 6", 3, "log(E (1 + 2E)/(E + 2))"),
    Template(
        "LaplaceRNM_pureDP", "Laplace(2D/epsilon)", "Dwork, Roth 2014, Claim 3.9, for any sensitivity", 3, "log(p/q)"
    ),
    Template("PF_pureDP", "Exponential(rate epsilon/(2D))", "McKenna, Sheldon 2020, Theorem 1", 2, "log(2E - 1)"),
)


@functools.cache
def half_noise_violates(name: str) -> bool:
    """Whether half the noise breaks the claim for every epsilon (rho, beta) > 0 on a pair that attains D.

    In terms of E = e^epsilon > 1, or of q = 1/E and a = epsilon, where q (1 + a) <= 1:
    - Gumbel, d = 3: 1/(1 + 2E) against E/(E + 2).
    - Permute-and-flip, d = 2: 1/(2E) against 1 - 1/(2E).
    - Laplace, d = 3: P(L1 - a > max(L2, L3)) = 5q/12 - q^2/12 and P(L1 + a > ...) = 1 - 7q/12 - aq/2 - q^2/12.
    """
    e, q, a = sympy.symbols("E q a", real=True)
    if name == "ExpoMech_pureDP":
        return proved(e * (1 + 2 * e) > e * (e + 2), [e > 1]) is not None
    if name == "PF_pureDP":
        return proved(1 - 1 / (2 * e) > e / (2 * e), [e > 1]) is not None
    if name == "LaplaceRNM_pureDP":
        low, high = 5 * q / 12 - q**2 / 12, 1 - 7 * q / 12 - a * q / 2 - q**2 / 12
        return proved(sympy.expand(high * q - low) > 0, [a > 0, q > 0, q < 1, q * (1 + a) <= 1]) is not None
    if name == "Gaussian_GDP":
        return proved(e**2 * 2 > e**2, [e > 0]) is not None
    return proved(2 * e > e, [e > 0]) is not None


def function_decided(number: int) -> Sensitivity:
    """The benchmark's sensitivity of one function, proved or not, with a pair that attains it where one was found."""
    function, stated = FUNCTIONS[number]
    return sensitivity(function, at_most=stated)


def attained(found: Sensitivity) -> bool:
    """Whether the witness differs by exactly the stated sensitivity, for its n and parameters."""
    pair = found.witness
    if pair is None:
        return False
    given = {
        name: sympy.Rational(str(value)) for name, value in pair.parameters.items() if not isinstance(value, tuple)
    }
    limit = found.at_most.subs({"n": pair.n, **given})
    return at_most(pair.difference, limit) is True and at_most(limit, pair.difference) is True


def run(*, numbers: Sequence[int] = (), progress: Callable[[str], None] = lambda _: None) -> Mapping[str, Any]:
    """Decides every question; one row for each function and mechanism.

    Args:
        numbers: the benchmark's functions; all 49 if empty.
        progress: called with the name of each function.

    Returns:
        A table: "title", "columns", "rows" (a row is a mapping), and "decided", "questions" and "wrong" as numbers.
    """
    rows: list[dict[str, Any]] = []
    for number in told(numbers or list(FUNCTIONS), progress, lambda number: f"function {number}"):
        found = function_decided(number)
        right = "holds" if found.outcome == "holds" else "open"
        reached = attained(found)
        for template in TEMPLATES:
            half = "refuted" if reached and half_noise_violates(template.name) else "open"
            rows.append(
                {
                    "function": number,
                    "mechanism": template.name,
                    "sensitivity": str(found.at_most),
                    "right noise": right,
                    "because": f"|f(x) - f(x')| <= {found.upper}; {template.theorem}"
                    if right == "holds"
                    else found.reason,
                    "half the noise": half,
                    "witness": _witness(found, template) if half == "refuted" else "",
                }
            )
    answers = [(row["right noise"], "holds") for row in rows] + [(row["half the noise"], "refuted") for row in rows]
    return {
        "title": TITLE,
        "columns": list(rows[0]),
        "rows": rows,
        "questions": len(answers),
        "decided": sum(answer != "open" for answer, _ in answers),
        "wrong": sum(answer not in ("open", label) for answer, label in answers),
    }


def table(quick: bool, progress: Callable[[str], None]) -> Table:
    """One row for each function: how many of the six mechanisms hold with the right noise, and fail with half of it.

    Args:
        quick: the first few functions.
        progress: called with the name of each function.
    """
    found = run(numbers=list(FUNCTIONS)[:4] if quick else (), progress=progress)
    counted: dict[int, list[Any]] = {}
    for row in found["rows"]:
        line = counted.setdefault(row["function"], [row["function"], row["sensitivity"], 0, 0, row["witness"]])
        line[2] += row["right noise"] == "holds"
        line[3] += row["half the noise"] == "refuted"
    verdict = "FAIL" if found["wrong"] else "pass" if found["decided"] == found["questions"] else "open"
    total = ["all", "", found["decided"], f"of {found['questions']} decided, {found['wrong']} wrong", "", verdict]
    columns = [
        "function",
        "sensitivity",
        "right noise holds, of 6",
        "half the noise refuted, of 6",
        "a witness",
        "verdict",
    ]
    return Table(TITLE, columns, [total, *([*line, ""] for line in counted.values())])


def _witness(found: Sensitivity, template: Template) -> str:
    pair = found.witness
    assert pair is not None
    one, other = (f"[{', '.join(map(str, data))}]" for data in (pair.dataset1, pair.dataset2))
    given = "".join(f", {name} = {value}" for name, value in pair.parameters.items())
    columns = f"d = {template.columns}, column 1 against the others, output 1: " if template.columns > 1 else ""
    return f"{columns}{one} and {other}{given}; loss {template.loss}"
