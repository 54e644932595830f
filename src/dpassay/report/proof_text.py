"""What a proof or a counterexample of a program comes to, in words: the same in the terminal, HTML and JUnit.

Every function takes a proof as JSON (`proof.schema.json`).
"""

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from dpassay.core.text import labeled, page, under

Proof = Mapping[str, Any]

NOTATION: Mapping[str, str] = {
    "Δx": "how much x differs in the second run from the first",
    "shift": "how much larger the second run's noise is, so that it gives the same output",
    "spent": "the privacy loss that the shifts so far cost",
    "δ": "the change of the one entry that differs",
    "j": "the place of the entry that differs",
    "passes": "passes of this loop that are done",
    "x′": "x in the second run",
}
_WRITTEN = (
    (r"\bcost\(\)", "spent"),
    (r"\bdelta\(\)", "δ"),
    (r"\bchanged\(\)", "j"),
    (r"\bsign\(\)", "±1"),
    (r"\bindex\('[^']*'\)", "passes"),
    (r"\bprophecy\('([^']*)'\)", r"\1"),
    (r"\bacc\('[^']*'\)", "so far"),
    (r"\bbest\('[^']*'\)", "best so far"),
    (r"\bat\('[^']*'\)", "list"),
    (r"\bother\((\w+)\)", r"\1′"),
    (r"\bother\(([^()]+)\)", r"(\1)′"),
    (r"\bd\((\w+)\)", r"Δ\1"),
    (r"\bd\(([^()]+)\)", r"Δ(\1)"),
)


def expression(text: str) -> str:
    """An expression of a certificate as reports write it, see `NOTATION`."""
    text = text.replace('"', "'")
    for pattern, written in _WRITTEN:
        text = re.sub(pattern, written, text)
    return text.replace(" == ", " = ")


def headline(proof: Proof) -> str:
    """The verdict in one sentence."""
    return {
        "holds": f"{claim(proof)} is proved for lists of every length and all parameters that meet the conditions.",
        "refuted": f"{claim(proof)} is false: two neighboring lists and an output show it.",
        "open": f"{claim(proof)} is not decided.",
    }[proof["verdict"]["outcome"]]


def claim(proof: Proof) -> str:
    """The claim as a noun."""
    name = {"epsilon": "DP", "zcdp": "zCDP", "gaussian": "GDP"}[proof["claim"]["notion"]]
    bound = str(proof["claim"]["bound"])
    return f"{bound}-{name}" if re.fullmatch(r"[\w.]+", bound) else f"({bound})-{name}"


def notes(proof: Proof) -> dict[int, list[str]]:
    """What the proof says of each line of the program, by line number."""
    alignment, said = proof["alignment"], dict[int, list[str]]()
    if alignment is None:
        return said
    draws = {_position(node): node for node in ast.walk(ast.parse(proof["text"])) if isinstance(node, ast.Call)}
    for place, cases in sorted(alignment.get("shifts", {}).items(), key=_order):
        said.setdefault(_line(place), []).extend(_shifts(cases, draws.get(_innermost(place))))
    for place, cases in alignment.get("coins", {}).items():
        said.setdefault(_line(place), []).extend(
            f"{_where(case)}the second run's coin is turned over if {expression(case['flip'])}" for case in cases
        )
    for place, range_ in alignment.get("selections", {}).items():
        low, high = expression(range_["low"]), expression(range_["high"])
        how = "" if place in draws else "permute-and-flip: the place where a coin says yes is one draw; "
        said.setdefault(_line(place), []).append(f"{how}scores differ by {low} to {high} between the runs")
    for place, loop in alignment.get("loops", {}).items():
        kept = "; ".join(expression(each) for each in loop["invariant"])
        said.setdefault(_line(place), []).append(f"before every pass: {kept or 'nothing is needed'}")
    for place in alignment.get("free", []):
        said.setdefault(_line(place), []).append("the two runs may go different ways here")
    for name, each in alignment.get("prophecies", {}).items():
        variable = expression(each["variable"])
        said.setdefault(_line(each["loop"]), []).append(f"{name} is what {variable} is in the end, in both runs")
    return said


def _shifts(cases: list[Any], call: ast.Call | None) -> Iterator[str]:
    scale = _scale(call)
    for position, case in enumerate(cases):
        shift = expression(case["shift"])
        where = _where(case) or ("else: " if position else "")
        if shift in ("0", "0.0"):
            yield f"{where}shift 0, which costs nothing"
        else:
            yield f"{where}shift {shift}{f', which costs {_cost(shift, scale)}' if scale is not None else ''}"


def _scale(call: ast.Call | None) -> ast.expr | None:
    """The scale of a draw of Laplace or exponential noise, as its call says it."""
    name = getattr(call.func, "attr", "") if call is not None else ""
    if call is None or name not in ("laplace", "exponential"):
        return None
    place = 1 if name == "laplace" else 0
    given = [keyword.value for keyword in call.keywords if keyword.arg == "scale"] + call.args[place : place + 1]
    return given[0] if given else ast.Constant(1)


def _cost(shift: str, scale: ast.expr) -> str:
    """The size of a shift over the scale, without a fraction below the line."""
    over, below = ("1", scale)
    if isinstance(scale, ast.BinOp) and isinstance(scale.op, ast.Div):
        over, below = _factor(scale.right), scale.left
    size = "1" if shift in ("1", "-1") else "its size" if " if " in shift else f"|{shift}|"
    top = " * ".join(part for part in (size, over) if part != "1") or "1"
    return top if ast.unparse(below) == "1" else f"{top} / {_factor(below)}"


def _factor(node: ast.expr) -> str:
    text = ast.unparse(node)
    return f"({text})" if isinstance(node, ast.BinOp) else text


def _where(case: Mapping[str, Any]) -> str:
    ways = [f"line {_line(place)} is {'true' if way else 'false'}" for place, way in case.get("when", {}).items()]
    return f"where {' and '.join(ways)}: " if ways else ""


def _innermost(place: str) -> tuple[int, int]:
    line, _, column = place.rpartition(">")[2].partition(":")
    return int(line), int(column)


def _line(place: str) -> int:
    return _innermost(place)[0]


def _order(item: tuple[str, Any]) -> tuple[int, int]:
    return _innermost(item[0])


def _position(node: ast.Call) -> tuple[int, int]:
    return node.lineno, node.col_offset


def listing(proof: Proof) -> str:
    """The program, each line's notes below it."""
    said, lines = notes(proof), proof["text"].splitlines()
    width = len(str(len(lines)))
    shown = []
    for number, text in enumerate(lines, 1):
        shown.append(f"{number:>{width}}  {text}".rstrip())
        indent = " " * (width + 2 + len(text) - len(text.lstrip()))
        shown += [f"{indent}# {note}" for note in said.get(number, [])]
    return "\n".join(shown)


def facts(proof: Proof) -> list[tuple[str, str]]:
    """Label and text of what a reader should know."""
    verdict, refutation, alignment = proof["verdict"], proof["refutation"], proof["alignment"]
    rows = [*under("neighbors", [proof["neighbors"]])]
    rows += under("assuming", verdict["assumptions"])
    if alignment is not None and verdict["outcome"] == "holds":
        rows += under("proof", [f"{alignment['conditions']} conditions, each decided by z3 and by cvc5; {EXPLAINED}"])
    if refutation is not None:
        values = ", ".join(f"{name} = {value}" for name, value in refutation["values"].items())
        rows += under("inputs", [f"{shown(refutation['data1'])} and {shown(refutation['data2'])}, with {values}"])
        rows += under("output", [refutation["output"]])
        rows += under("probability", [f"{refutation['probability1']} and {refutation['probability2']}"])
        rows += under("loss", [f"{refutation['loss']} where at most {refutation['allowed']} is claimed"])
    if proof["inferred"]:
        rows += under("smallest", [f"the smallest bound that is proved: {proof['inferred']}"])
    if proof["largest_loss"]:
        rows += under("largest", [proof["largest_loss"]])
    rows += under("tried", [] if verdict["outcome"] != "open" else proof["tried"])
    return rows + under("warning", verdict["warnings"])


EXPLAINED = f"the theorem that joins them: {page('theorems/alignments.md')}"


def shown(value: Any) -> str:
    """A number's text, or those of a list, as people write them."""
    return value if isinstance(value, str) else f"[{', '.join(map(str, value))}]"


def plain_text(proof: Proof) -> str:
    """What `dpassay prove` prints."""
    parts = [
        labeled(f"{proof['mechanism']}: {proof['verdict']['outcome']}", [("verdict", headline(proof)), *facts(proof)])
    ]
    if proof["verdict"]["outcome"] == "holds":
        parts.append(listing(proof))
    if proof["refutation"] is not None:
        parts.append(f"To run it:\n\n{proof['refutation']['code']}")
    return "\n\n".join(parts)
