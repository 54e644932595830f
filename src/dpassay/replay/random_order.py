"""Whether a loop in random order is permute-and-flip: the first place whose coin says yes, of chances that reach 1.

    best = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < math.exp(factor * (scores[i] - best)):
            ...                                    # ends with return or break

Other such loops have other laws: this one's is a theorem (docs/theorems/alignments.md), which needs that `best` is the
largest score, that the factor is above 0 and the same for all, and that a place is visited once.
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from dpassay.replay.named_sums import assigns, blocks, only_read, stores


@dataclass(frozen=True)
class Flips:
    """What such a loop is made of.

    Attributes:
        scores: the list's name.
        factor: of a score in the exponent.
        uniform, exponential: the call of `rng.random`, and the function `exp`.
        accepted: what is done at the place whose coin says yes.
    """

    scores: str
    factor: ast.expr
    uniform: ast.expr
    exponential: ast.Attribute
    accepted: Sequence[ast.stmt]


def flips(function: ast.FunctionDef, loop: ast.For) -> Flips | str:
    """The parts of a loop over `rng.permutation(...)` in a function, or why it is not permute-and-flip.

    That `rng` is the generator, `len`, `max` and `exp` are what they seem, and the list does not change by another
    name, is for the reader to see.
    """
    match loop:
        case ast.For(
            ast.Name(place),
            ast.Call(args=[ast.Call(ast.Name("len"), [ast.Name(scores)], [])], keywords=[]),
            [
                ast.If(
                    ast.Compare(ast.Call(args=[], keywords=[]) as uniform, [ast.Lt() | ast.LtE()], [chance]),
                    accepted,
                    [],
                )
            ],
            [],
        ):
            pass
        case _:
            return "it is `for i in rng.permutation(len(scores)): if rng.random() < chance: ...` and no more"
    match chance:
        case ast.Call(ast.Attribute(ast.Name("math" | "np"), "exp") as exponential, [exponent], []):
            factor, best = _factored(exponent, scores, place) or (None, None)
        case _:
            factor = best = None
    if factor is None or best is None:
        return "the chance is `math.exp(factor * (scores[i] - best))`"
    if any(isinstance(each, ast.Call) or getattr(each, "id", "") == place for each in ast.walk(factor)):
        return "the factor is one number for all places"
    if not _is_largest(function, loop, scores, best) or stores(function, place) != 1:
        return f"best is `max({scores})`, assigned once before the loop, of a list that does not change"
    *before, last = accepted
    leaving = (ast.Break, ast.Continue, ast.Return)
    if not isinstance(last, ast.Break | ast.Return) or any(isinstance(n, leaving) for s in before for n in ast.walk(s)):
        return "where the coin says yes, the loop is left by return or break at the end, and nowhere else"
    return Flips(scores, factor, uniform, exponential, before if isinstance(last, ast.Break) else accepted)


def _factored(node: ast.expr, scores: str, place: str) -> tuple[ast.expr, ast.expr] | None:
    """The factor and `best`, of an exponent that is a product or a quotient of a factor and `scores[i] - best`."""
    match node:
        case ast.BinOp(ast.Subscript(ast.Name(listed), ast.Name(index)), ast.Sub(), best):
            return (ast.copy_location(ast.Constant(1), node), best) if (listed, index) == (scores, place) else None
        case ast.BinOp(left, ast.Mult() | ast.Div() as operator, right):
            one = _factored(left, scores, place)
            if one is not None:
                return ast.copy_location(ast.BinOp(one[0], operator, right), node), one[1]
            other = _factored(right, scores, place) if isinstance(operator, ast.Mult) else None
            return None if other is None else (ast.copy_location(ast.BinOp(left, operator, other[0]), node), other[1])
    return None


def _is_largest(function: ast.FunctionDef, loop: ast.For, scores: str, best: ast.expr) -> bool:
    """Whether `best` is the largest score as long as the loop runs: of a list that is still as it was then."""
    once = isinstance(best, ast.Name) and stores(function, best.id) == 1 == stores(function, scores)
    if not once or not only_read(function, scores):
        return False
    assert isinstance(best, ast.Name)
    given = scores in [each.arg for each in function.args.args]
    for block in blocks(function):
        around = [at for at, each in enumerate(block) if any(node is loop for node in ast.walk(each))]
        before = block[: around[0]] if around else []
        made = [at for at, each in enumerate(before) if assigns(each, scores)]
        found = [at for at, each in enumerate(before) if assigns(each, best.id)]
        if found and (given or (made and made[0] < found[0])):
            value = before[found[0]].value  # type: ignore[attr-defined]
            return ast.unparse(value) in (f"max({scores})", f"np.max({scores})")
    return False
