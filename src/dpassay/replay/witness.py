"""Checks witnesses: two neighboring datasets, an event, and both its probabilities as rigorous enclosures.

Inputs (numbers are integers or strings "3", "1/2", "0.25"; a missing rating is null; there are no other fields):
    "mechanism": {"id", "variant", "parameters": {all of them}}
    "relation": "add_or_remove_one:rating", ...
    "epsilon": nats, or "inf": the event is possible under dataset1 and impossible under dataset2, so no finite
        epsilon will do; "delta": probability
    "dataset1", "dataset2": rows of ratings; the event is the likelier one under dataset1
    "event": distinct outputs, each a list of integers such as the ascending row numbers of one set of neighbors
    "scale"?: the allowed values of a rating
    "impossible"?: true demands Pr2 = 0 exactly, so that no finite epsilon will do, whatever "epsilon" says
    "minimality"?: {"fixed"?: [component, ...], "scale"?: [value, ...]}, a search that is done again, see below

The result holds only if certainly Pr1 > e^epsilon Pr2 + delta. A probability of 0 is a matter of combinatorics, never
an enclosure that contains 0.

Minimality. A pair of neighboring datasets has a size with the components `users` (rows), `items`, `ratings` (present
ones, in the larger of the two datasets), and `largest` (rating in either); for a selection of users `candidates` (rows
less the target) stands for `users`, and `num_neighbors` comes before it. The
checker enumerates every pair of the relation that is nowhere larger than the witness and somewhere smaller, with
ratings from `scale` (default: the witness's), and finds that none is a witness of this kind: none makes an output
possible under one dataset and impossible under the other, when this witness does, and else none violates the claim by
any event. The components named in `fixed` are kept at the witness's value. The mechanism's other parameters are kept;
when users are selected the target is row 0. Pairs on which the mechanism is not defined violate nothing. Reordering
the items changes no law of a selection of users, and reordering the users none of the others: one order is enumerated.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from flint import arb, fmpq

from dpassay.replay import Rejected
from dpassay.replay.datasets import Dataset, dataset_text, mechanism_text, read_dataset, read_event, rows_text
from dpassay.replay.laws import Law, Undefined, law_module
from dpassay.replay.numbers import bounds, down, fields, integer, precision, rational, show

COMPONENTS = ("num_neighbors", "candidates", "items", "ratings", "largest")
ITEM_COMPONENTS = ("users", "items", "ratings", "largest")
SELECTIONS_OF_USERS = ("knn", "npns", "pncf", "ppns")
MAX_DATASETS = 120_000  # about ten seconds

Codes = tuple[tuple[int, ...], ...]
_RELATIONS = tuple(
    f"{kind}:{unit}"
    for kind, unit in itertools.product(("add_or_remove_one", "replace_one"), ("user", "rating", "entry"))
    if (kind, unit) != ("add_or_remove_one", "entry")
)


def compute(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Recomputes both probabilities; raises `Rejected` unless they violate the claim."""
    required = ("mechanism", "relation", "epsilon", "delta", "dataset1", "dataset2", "event")
    fields(inputs, "a witness", required, ("scale", "impossible", "minimality"))
    if not isinstance(inputs.get("impossible", False), bool):
        raise Rejected("impossible must be true or false")
    with precision():
        return _violation(inputs)


def neighboring_cells(dataset1: Dataset, dataset2: Dataset, relation: str) -> list[tuple[int, int]]:
    """The (user, item) cells in which two datasets differ.

    Raises:
        Rejected: the datasets are not neighboring by the relation.
    """
    if relation not in _RELATIONS:
        raise Rejected(f"relation {relation!r}: known are {', '.join(_RELATIONS)}")
    kind, unit = relation.split(":")
    if len(dataset1) != len(dataset2) or len(dataset1[0]) != len(dataset2[0]):
        raise Rejected("the datasets differ in shape")
    cells = [
        (user, item)
        for user, (row1, row2) in enumerate(zip(dataset1, dataset2, strict=True))
        for item, (one, two) in enumerate(zip(row1, row2, strict=True))
        if one != two
    ]
    if not cells:
        raise Rejected("the datasets are equal")
    if unit == "user":
        users = {user for user, _ in cells}
        rows = [dataset[min(users)] for dataset in (dataset1, dataset2)]
        if len(users) > 1 or (kind == "add_or_remove_one" and not any(set(row) == {None} for row in rows)):
            raise Rejected(f"the datasets differ in cells {cells}, which {relation} does not allow")
        return cells
    ((user, item),) = cells[:1]
    appears = (dataset1[user][item] is None) != (dataset2[user][item] is None)
    if len(cells) > 1 or appears != (kind == "add_or_remove_one"):
        raise Rejected(f"the datasets differ in cells {cells}, which {relation} does not allow")
    return cells


def _violation(inputs: Mapping[str, Any]) -> dict[str, Any]:
    epsilon = None if inputs["epsilon"] == "inf" else rational(inputs["epsilon"])
    delta = rational(inputs["delta"])
    if (epsilon is not None and epsilon < 0) or not 0 <= delta < 1:
        raise Rejected("epsilon must be >= 0 and delta lie in [0, 1)")
    scale = [rational(value) for value in inputs["scale"]] if "scale" in inputs else None
    dataset1, dataset2 = (read_dataset(inputs[name], scale) for name in ("dataset1", "dataset2"))
    cells = neighboring_cells(dataset1, dataset2, inputs["relation"])
    event = read_event(inputs["event"], inputs["mechanism"], dataset1)
    exact = law_module(inputs["mechanism"]).law
    law1, law2 = (exact(inputs["mechanism"], dataset) for dataset in (dataset1, dataset2))
    one, two = (sum((law[rows] for rows in event if rows in law), fmpq(0)) for law in (law1, law2))
    never = not any(rows in law2 for rows in event)
    infinite = epsilon is None or inputs.get("impossible", False)
    if infinite and not never:
        raise Rejected("the event is possible under dataset2")
    if not _exceeds(one - delta, two, never, epsilon):
        raise Rejected(f"no violation: Pr1 = {_shown(one)}, Pr2 = {_shown(two)}")
    lower = "inf" if never else down(_logarithm((one - delta) / two), 12)
    result: dict[str, Any] = {
        "mechanism": mechanism_text(inputs["mechanism"]),
        "dataset1": dataset_text(dataset1),
        "dataset2": dataset_text(dataset2),
        "changed": [list(cell) for cell in cells],
        "event": "; ".join(rows_text(rows) for rows in event),
        "claimed": f"epsilon {inputs['epsilon']}, delta {show(delta)}, {inputs['relation']}",
        "probability1": bounds(one),
        "probability2": bounds(two),
        "epsilon_lower": lower,
        "summary": _summary(inputs, event, one, two, lower, cells),
    }
    if never:
        result["impossible_output"] = list(next(rows for rows in event if rows in law1))
    if scale is not None:
        result["scale"] = [show(value) for value in scale]
    if "minimality" in inputs:
        result["minimality"] = _minimal(inputs, dataset1, dataset2, None if infinite else epsilon, delta)
    return result


def _exceeds(lifted: Any, two: Any, never: bool, epsilon: fmpq | None) -> bool:
    """Whether certainly Pr1 - delta > e^epsilon Pr2; epsilon None is infinity."""
    if never or epsilon is None:
        return never and bool(lifted > 0)
    factor = fmpq(1) if epsilon == 0 else arb(epsilon).exp()
    return bool(lifted > factor * two)


def _logarithm(ratio: Any) -> Any:
    return fmpq(0) if isinstance(ratio, fmpq) and ratio == 1 else arb(ratio).log()


def _minimal(
    inputs: Mapping[str, Any], dataset1: Dataset, dataset2: Dataset, epsilon: fmpq | None, delta: fmpq
) -> dict[str, Any]:
    """Enumerates all smaller neighboring pairs; raises `Rejected` at the first witness; epsilon None is infinity."""
    request = inputs["minimality"]
    fields(request, "minimality", (), ("fixed", "scale"))
    selects_users = inputs["mechanism"]["id"] in SELECTIONS_OF_USERS
    components = COMPONENTS if selects_users else ITEM_COMPONENTS
    fixed = sorted(request.get("fixed", ()))
    if set(fixed) - set(components) or len(set(fixed)) < len(fixed):
        raise Rejected(f"fixed must name components among {', '.join(components)}")
    if not {"scale"} & ({*request, *inputs}):
        raise Rejected("minimality needs the scale of ratings: list its values in 'scale'")
    scale = sorted({rational(value) for value in request.get("scale", inputs.get("scale"))})
    parameters = inputs["mechanism"]["parameters"]
    users, items = len(dataset1), len(dataset1[0])
    size: tuple[Any, ...] = (users, items, *_filling(dataset1, dataset2))
    if selects_users:
        if integer(parameters["target"], "target") != 0:
            raise Rejected("minimality is enumerated for target 0")
        k = integer(parameters["num_neighbors"], "num_neighbors", at_least=1)
        size = (k, users - 1, *size[1:])
    search = _Search(inputs["mechanism"], inputs["relation"], epsilon, delta, scale, components, size, fixed)
    dimensions = (
        [own] if name in fixed else range(1, own + 1) for name, own in zip(components[:-2], size[:-2], strict=True)
    )
    for chosen in itertools.product(*dimensions):
        if not selects_users or chosen[0] <= chosen[1]:
            search.box(chosen)
    held = f" at the same {', '.join(fixed)}" if fixed else ""
    deed = "makes an output impossible" if epsilon is None else "violates the claim"
    return {
        "size": {name: show(fmpq(own)) for name, own in zip(components, size, strict=True)},
        "fixed": fixed,
        "scale": [show(value) for value in scale],
        "datasets": search.datasets,
        "pairs": search.pairs,
        "statement": f"none of the smaller neighboring pairs{held} {deed} ({search.pairs} compared)",
    }


class _Search:
    """Enumeration of the neighboring pairs below a witness; ratings stand as their places on the scale, -1 missing."""

    def __init__(
        self,
        mechanism: Mapping[str, Any],
        relation: str,
        epsilon: fmpq | None,
        delta: fmpq,
        scale: Sequence[fmpq],
        components: Sequence[str],
        size: tuple[Any, ...],
        fixed: Sequence[str],
    ) -> None:
        self._kind, self._unit = relation.split(":")
        self._scale = [value for value in scale if value <= size[-1]]
        self._codes = range(-1, len(self._scale))
        self._delta, self._size = delta, size
        self._factor = None if epsilon is None else fmpq(1) if epsilon == 0 else arb(epsilon).exp()
        self._fixed = [components.index(name) for name in fixed]
        self._selects_users = "candidates" in components
        self._original = self._mechanism = mechanism
        self._module = law_module(mechanism)
        self._known: dict[Codes, tuple[int, Law | None]] = {}
        self._laws: dict[Any, tuple[int, Law | None]] = {}
        self._violating: dict[tuple[int, int], bool] = {}
        self.datasets = self.pairs = 0

    def box(self, dimensions: tuple[int, ...]) -> None:
        """All pairs with these dimensions; raises `Rejected` at one that violates the claim."""
        users, items = dimensions[-2:]
        if self._selects_users:
            users += 1
            parameters = {**self._original["parameters"], "num_neighbors": dimensions[0]}
            self._mechanism = {**self._original, "parameters": parameters}
        self._known, self._laws, self._violating = {}, {}, {}
        most = self._size[-2]
        # The lines of the matrix whose order is of no account, and their length.
        count, length = (items, users) if self._selects_users else (users, items)
        lines = [line for line in itertools.product(self._codes, repeat=length) if _count(line) <= most]
        if math.comb(len(lines) + count - 1, count) > 40 * MAX_DATASETS:
            raise Rejected(_TOO_LARGE)
        for chosen in itertools.combinations_with_replacement(lines, count):
            if sum(map(_count, chosen)) > most:
                continue
            self.datasets += 1
            if self.datasets > MAX_DATASETS:
                raise Rejected(_TOO_LARGE)
            dataset = tuple(zip(*chosen, strict=True)) if self._selects_users else chosen
            for other in self._neighbors(dataset):
                self._judge(dataset, other, dimensions)

    def _judge(self, dataset1: Codes, dataset2: Codes, dimensions: tuple[int, ...]) -> None:
        ratings = max(sum(map(_count, dataset)) for dataset in (dataset1, dataset2))
        largest = self._scale[max(max(map(max, dataset)) for dataset in (dataset1, dataset2))]
        size = (*dimensions, ratings, largest)
        kept = all(size[place] == self._size[place] for place in self._fixed)
        if not kept or size == self._size or ratings > self._size[-2]:
            return
        self.pairs += 1
        number1, law1 = self._law(dataset1)
        number2, law2 = self._law(dataset2)
        if number1 == number2 or law1 is None or law2 is None:
            return
        # Both directions: of two datasets that differ only in the order of lines, one is enumerated.
        for one, two, pair in ((law1, law2, (number1, number2)), (law2, law1, (number2, number1))):
            if pair not in self._violating:
                self._violating[pair] = self._violates(one, two)
            if self._violating[pair]:
                texts = [dataset_text(self._dataset(dataset)) for dataset in (dataset1, dataset2)]
                held = f" with {dimensions[0]} neighbors" if self._selects_users else ""
                raise Rejected(f"not minimal: {texts[0]} and {texts[1]}{held} are one too")

    def _violates(self, one: Law, two: Law) -> bool:
        """Whether the event of all outputs that gain violates the claim, or may at the working precision."""
        if self._factor is None:
            return any(rows not in two for rows in one)
        excess = fmpq(0)
        for rows, chance in one.items():
            gain = chance - self._factor * two.get(rows, fmpq(0))
            if not gain <= 0:
                excess = excess + gain
        return not excess <= self._delta

    def _law(self, dataset: Codes) -> tuple[int, Law | None]:
        """A number, equal for equal laws, and the law; None where the mechanism is not defined."""
        ordered = tuple(sorted(zip(*dataset, strict=True) if self._selects_users else dataset))
        if ordered not in self._known:
            key, law = self._exact_law(self._dataset(dataset))
            if key not in self._laws:
                try:
                    self._laws[key] = (len(self._laws), law())
                except Undefined:
                    self._laws[key] = (len(self._laws), None)
            self._known[ordered] = self._laws[key]
        return self._known[ordered]

    def _exact_law(self, dataset: Dataset) -> tuple[Any, Callable[[], Law]]:
        """A key, equal for equal laws where the module knows one that is cheap, and the law."""
        if hasattr(self._module, "Profile"):
            profile = self._module.Profile(self._mechanism, dataset)
            return profile.key, profile.law
        return dataset, lambda: self._module.law(self._mechanism, dataset)

    def _dataset(self, codes: Codes) -> Dataset:
        return tuple(tuple(None if code < 0 else self._scale[code] for code in row) for row in codes)

    def _neighbors(self, dataset: Codes) -> Iterator[Codes]:
        for user, row in enumerate(dataset):
            if self._unit == "user":
                whole = self._kind == "replace_one" or max(row) < 0
                rows = itertools.product(self._codes, repeat=len(row)) if whole else [(-1,) * len(row)]
                changed = [new for new in rows if new != row]
            else:
                changed = [
                    (*row[:item], code, *row[item + 1 :])
                    for item, own in enumerate(row)
                    for code in self._codes
                    if code != own and ((own < 0) != (code < 0)) == (self._kind == "add_or_remove_one")
                ]
            yield from ((*dataset[:user], new, *dataset[user + 1 :]) for new in changed)


_TOO_LARGE = f"more than {MAX_DATASETS} datasets below the witness: fix components or give a smaller scale"


def _count(codes: Iterable[int]) -> int:
    return sum(code >= 0 for code in codes)


def _filling(dataset1: Dataset, dataset2: Dataset) -> tuple[int, fmpq]:
    """(ratings, largest) of a pair."""
    present = [[value for row in dataset for value in row if value is not None] for dataset in (dataset1, dataset2)]
    return max(map(len, present)), max(itertools.chain(*present))


def _summary(
    inputs: Mapping[str, Any],
    event: Sequence[tuple[int, ...]],
    one: Any,
    two: Any,
    lower: str,
    cells: Sequence[tuple[int, int]],
) -> str:
    users = sorted({user for user, _ in cells})
    change = (
        f"user {users[0]}" if "user" in inputs["relation"].split(":") else f"user {cells[0][0]}, item {cells[0][1]}"
    )
    noun = "neighbors" if inputs["mechanism"]["id"] in SELECTIONS_OF_USERS else "output"
    what = f"{noun} " + " or ".join(rows_text(rows) for rows in event[:3]) + (" or ..." if len(event) > 3 else "")
    if lower == "inf":
        return (
            f"{what}: probability {_shown(one)} against exactly 0 when only {change} changes: no finite epsilon holds"
        )
    return f"{what}: probability {_shown(one)} against {_shown(two)} when only {change} changes: epsilon >= {lower}"


def _shown(probability: Any) -> str:
    return show(probability) if isinstance(probability, fmpq) else down(probability, 6)
