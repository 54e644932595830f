"""Checks that a floating-point sampler tells neighboring datasets apart by an output that only one of them can give.

Inputs (numbers are integers or strings "3", "1/2", "0.25"; a missing rating is null; there are no other fields):
    "form": see below
    "mechanism": {"id", "variant", "parameters"}
    "relation", "dataset1", "dataset2": neighboring datasets

Forms. The randomness itself is taken as ideal: every value that the code's random words can take has a chance.
    "addition": the released float is fl(v + n), n a random float and v what a dataset of one entry says: the rating, 0
        for a missing one (modified Laplace), or that with either sign (the column sketch with one row). Further fields
        "format" ("float64" or "float32"), "noise", "output". Shown: fl(v1 + noise) = output for floats, while no float
        n whatever gives fl(v2 + n) = output. Rounding is monotone in n, so the two floats around the real solution
        decide that.
    "product": the released float is fl(v n), v the entry of the lifted matrix for one item and two users with the
        ratings a and b: sqrt(c^2 + w^2/2) in size, c = (a - b)/2, w as Algorithm 1 computes it (the Gaussian sketch
        with one row). Further fields as before, and "factors", v1 and v2 as the code computed them on the machine that
        wrote the file. Shown: each is within 16 x 2^-53 of its real number, and the same as above.
    "gumbel": one candidate is drawn as the largest of log-weight - ln(-ln u), the u independent odd multiples of
        2^-(bits + 1) in (0, 1). Further fields "output", "bits" and "slack", which covers the rounding of the
        logarithms. A candidate whose log-weight is below another's by more than the whole range of the noise is never
        drawn. Shown from the exact law (weights are in proportion to chances): so it is under dataset2, not under
        dataset1, and its ideal chance is positive under both.
    "coin": one item is in the output when u (1 + x) < x, u as above and x = p/(1-p) for its ideal chance p. Further
        fields "output", "bits". Shown from the exact law: {item} is beyond the smallest u under dataset2, by a factor
        of 2 at least, and likelier than the largest u leaves out under dataset1.
    "threshold": randomized response keeps a symbol when u < "threshold", a float, u as above. Further fields
        "threshold", "bits". Shown: the threshold is the float nearest to the keep probability, and all u are below.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from flint import arb, fmpq

from dpassay.replay import Rejected
from dpassay.replay.datasets import Dataset, dataset_text, mechanism_text, read_dataset, read_event, rows_text
from dpassay.replay.laws import law_module
from dpassay.replay.numbers import bounds, fields, fraction, integer, precision, rational, show
from dpassay.replay.witness import neighboring_cells

FORMATS: Mapping[str, tuple[int, int, int]] = {"float64": (53, -1074, 1024), "float32": (24, -149, 128)}
"""name -> (significant bits, exponent of the smallest positive number, exponent that overflows)."""

_COMMON = ("form", "mechanism", "relation", "dataset1", "dataset2")
_LEAST_SLACK = fmpq(1, 10**9)
_ULPS = 16  # rounding of a decomposition of a 1 x 2 matrix, in units of 2^-53


def compute(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Shows the difference again; raises `Rejected` where it is not certain."""
    form = inputs["form"]
    if form not in _FORMS:
        raise Rejected(f"form is {form!r}: use one of {', '.join(_FORMS)}")
    own, decide = _FORMS[form]
    fields(inputs, f"a {form}", (*_COMMON, *own))
    fields(inputs["mechanism"], "the mechanism", ("id", "variant", "parameters"))
    with precision():
        datasets = (read_dataset(inputs["dataset1"]), read_dataset(inputs["dataset2"]))
        cells = _changed(*datasets, inputs["relation"])
        return {
            "form": form,
            "mechanism": mechanism_text(inputs["mechanism"]),
            "relation": inputs["relation"],
            "dataset1": dataset_text(datasets[0]),
            "dataset2": dataset_text(datasets[1]),
            "changed": [list(cell) for cell in cells],
            "epsilon_lower": "inf",
            **decide(inputs, *datasets),
        }


def nearest(value: Fraction, name: str) -> Fraction | None:
    """The float of this format nearest to a number, ties to the even one; None where it overflows."""
    if value == 0:
        return value
    unit = _unit(value, name)
    rounded = round(value / unit) * unit  # Python rounds a fraction half to even
    return rounded if abs(rounded) < Fraction(2) ** FORMATS[name][2] else None


def _unit(value: Fraction, name: str) -> Fraction:
    """The distance of the floats around a number that is not 0."""
    bits, least, _ = FORMATS[name]
    exponent = abs(value.numerator).bit_length() - value.denominator.bit_length()
    exponent -= abs(value) < Fraction(2) ** exponent  # now 2^exponent <= |value| < 2^(exponent + 1)
    return Fraction(2) ** max(exponent - bits + 1, least)


def neighbors_of(value: Fraction, name: str) -> tuple[Fraction, ...]:
    """The largest float <= value and the smallest float >= value; one of them where it overflows."""
    middle = nearest(value, name)
    if middle is None:
        raise Rejected(f"{value} is beyond the range of {name}")
    if middle == value:
        return (middle,)
    unit = _unit(value, name)
    low = (value / unit).__floor__() * unit
    return tuple(each for each in (low, low + unit) if nearest(each, name) == each)


def reaches(form: str, value: Fraction, output: Fraction, name: str) -> tuple[Fraction, ...]:
    """The floats n around the real solution with fl(value op n) = output: empty only if no float n gives it.

    Raises:
        Rejected: a product with 0, or a solution beyond the format's range.
    """
    if form == "product" and value == 0:
        raise Rejected("a product with 0 says nothing about the noise")
    solution = output - value if form == "addition" else output / value
    return tuple(n for n in neighbors_of(solution, name) if nearest(_combined(form, value, n), name) == output)


def _combined(form: str, value: Fraction, noise: Fraction) -> Fraction:
    return value + noise if form == "addition" else value * noise


def _changed(dataset1: Dataset, dataset2: Dataset, relation: str) -> list[tuple[int, int]]:
    """The differing cells; an entry of this paper's vectors may be missing, which counts as one of its values."""
    missing1, missing2 = (sum(value is None for row in dataset for value in row) for dataset in (dataset1, dataset2))
    if relation == "replace_one:entry" and missing1 != missing2:
        relation = "add_or_remove_one:rating"
    return neighboring_cells(dataset1, dataset2, relation)


def _arithmetic(inputs: Mapping[str, Any], dataset1: Dataset, dataset2: Dataset) -> dict[str, Any]:
    form, name = inputs["form"], inputs["format"]
    if name not in FORMATS:
        raise Rejected(f"format is {name!r}: use one of {', '.join(FORMATS)}")
    noise, output = (fraction(rational(inputs[field])) for field in ("noise", "output"))
    own = {"format": name, "noise": str(noise), "output": str(output)}
    if form == "addition":
        values1, values2 = (_summands(inputs["mechanism"], dataset) for dataset in (dataset1, dataset2))
    else:
        if name != "float64" or len(inputs["factors"]) != 2:
            raise Rejected("the sketch is computed in float64, with one factor per dataset")
        values1, values2 = (
            [_factor(inputs["mechanism"], dataset, fraction(rational(stated)))]
            for dataset, stated in zip((dataset1, dataset2), inputs["factors"], strict=True)
        )
    for what, number in (("noise", noise), ("output", output), *(("value", each) for each in (*values1, *values2))):
        if nearest(number, name) != number:
            raise Rejected(f"the {what} {number} is not a {name}")
    giving = [value for value in values1 if nearest(_combined(form, value, noise), name) == output]
    if not giving:
        raise Rejected(f"the noise does not give the output: fl of {values1[0]} and {noise} is not {output}")
    for value in values2:
        found = reaches(form, value, output, name)
        if found:
            raise Rejected(f"the other dataset reaches the output too, with the noise {found[0]}")
    sign = "+" if form == "addition" else "*"
    other = " or ".join(repr(float(value)) for value in values2)
    return {
        **own,
        "values": [[str(value) for value in values] for values in (giving, values2)],
        "summary": f"the {name} {float(output)!r} is fl({float(giving[0])!r} {sign} {float(noise)!r}), and no float n "
        f"gives fl(v {sign} n) equal to it with v = {other}: possible on one side only, no finite epsilon holds",
    }


def _summands(mechanism: Mapping[str, Any], dataset: Dataset) -> list[Fraction]:
    """What the noise may be added to in the code; datasets of one entry."""
    if (len(dataset), len(dataset[0])) != (1, 1):
        raise Rejected("a sum is shown on datasets of one entry")
    entry = Fraction(0) if dataset[0][0] is None else fraction(dataset[0][0])
    kind, parameters = (mechanism["id"], mechanism["variant"]), mechanism["parameters"]
    if kind == ("modified_laplace", "paper"):
        return [entry]
    if kind == ("sjlt", "repaired") and (parameters["num_rows"], parameters["num_nonzeros"]) == (1, 1):
        clipped = min(max(entry, Fraction(0)), fraction(rational(parameters["max_change"])))
        return sorted({clipped, -clipped})
    raise Rejected(f"nothing is known here about sums in {kind[0]} ({kind[1]}) with these parameters")


def _factor(mechanism: Mapping[str, Any], dataset: Dataset, stated: Fraction) -> Fraction:
    """What the noise is multiplied with in the code, when it is close to the real number."""
    parameters = mechanism["parameters"]
    if (mechanism["id"], mechanism["variant"]) != ("jlt", "paper") or parameters["num_rows"] != 1:
        raise Rejected("nothing is known here about products but in jlt (paper) with one row")
    if (len(dataset), len(dataset[0])) != (1, 2):
        raise Rejected("a product is shown on datasets of one item and two users")
    first, second = (fmpq(0) if entry is None else entry for entry in dataset[0])
    epsilon, delta = (rational(parameters[name]) for name in ("epsilon", "delta"))
    noise = (32 * arb(2 / delta).log()).sqrt() * arb(4 / delta).log() / arb(epsilon)
    real = (arb((first - second) / 2) ** 2 + noise**2 / 2).sqrt()
    if not abs(arb(fmpq(stated.numerator, stated.denominator)) / real - 1) < fmpq(_ULPS, 2**53):
        raise Rejected(f"the factor {float(stated)!r} is not the entry of the lifted matrix, {real.str(20)}")
    return stated


def _gumbel(inputs: Mapping[str, Any], dataset1: Dataset, dataset2: Dataset) -> dict[str, Any]:
    bits, slack = integer(inputs["bits"], "bits", at_least=1), rational(inputs["slack"])
    if slack < _LEAST_SLACK:
        raise Rejected(f"slack is {inputs['slack']}: below {_LEAST_SLACK} the rounding of logarithms is not covered")
    laws, output = _laws(inputs, dataset1, dataset2)
    if {len(each) for law in laws for each in law} != {1}:
        raise Rejected("a range of the noise decides single draws only: use outputs of one candidate")
    smallest = fmpq(1, 2 ** (bits + 1))
    spread = -(-arb(1 - smallest).log()).log() + (-arb(smallest).log()).log()
    leads = [(max(law.values(), key=lambda chance: arb(chance).mid()) / arb(law[output])).log() for law in laws]
    if not leads[0] < spread - arb(slack):
        raise Rejected(f"the output may be out of reach under dataset1 too: it trails by {leads[0].str(8)}")
    if not leads[1] > spread + arb(slack):
        raise Rejected(f"the output is within reach under dataset2: it trails by {leads[1].str(8)} only")
    return {
        "output": rows_text(output),
        "bits": bits,
        "slack": show(slack),
        "spread": bounds(spread),
        "leads": [bounds(lead) for lead in leads],
        "ideal": [bounds(law[output]) for law in laws],
        "summary": f"{rows_text(output)} trails the likeliest output by {_shown(leads[0])} and {_shown(leads[1])} "
        f"nats, and Gumbel noise from {bits}-bit uniform numbers spans {_shown(spread)}: possible under dataset1, "
        f"never drawn under dataset2, where its ideal chance is {arb(laws[1][output]).str(3, radius=False)}",
    }


def _coin(inputs: Mapping[str, Any], dataset1: Dataset, dataset2: Dataset) -> dict[str, Any]:
    bits = integer(inputs["bits"], "bits", at_least=1)
    laws, output = _laws(inputs, dataset1, dataset2)
    if len(dataset1[0]) != 1 or output != (0,):
        raise Rejected("a coin is shown on one item and the output {0}")
    smallest = fmpq(1, 2 ** (bits + 1))
    chances = [law[output] for law in laws]
    if not chances[1] * 2 < smallest:
        raise Rejected("the output is within reach under dataset2")
    if not chances[0] > 2 * smallest:
        raise Rejected("the output may be out of reach under dataset1 too")
    return {
        "output": rows_text(output),
        "bits": bits,
        "smallest": show(smallest),
        "ideal": [bounds(chance) for chance in chances],
        "summary": f"{rows_text(output)} has the ideal chances {arb(chances[0]).str(6, radius=False)} and "
        f"{arb(chances[1]).str(3, radius=False)}, and no uniform number of {bits} bits is below 2^-{bits + 1}: "
        "possible under dataset1, never drawn under dataset2",
    }


def _threshold(inputs: Mapping[str, Any], dataset1: Dataset, dataset2: Dataset) -> dict[str, Any]:
    mechanism = inputs["mechanism"]
    if (mechanism["id"], mechanism["variant"]) != ("randomized_response", "paper"):
        raise Rejected("only the paper's randomized response compares a uniform number with its keep probability")
    bits, threshold = integer(inputs["bits"], "bits", at_least=1), fraction(rational(inputs["threshold"]))
    epsilon, symbols = (rational(mechanism["parameters"][name]) for name in ("epsilon", "num_ratings"))
    other = 1 / (arb(epsilon).exp() + arb(symbols))
    if nearest(threshold, "float64") != threshold:
        raise Rejected("the threshold is not a float64")
    # Above 1 - 2^-53 the floats are 1 and what lies beyond: the exact probability rounds to 1 when it is this close.
    if threshold != 1 or not other * arb(symbols) < arb(fmpq(1, 2**54)):
        raise Rejected("the threshold 1 is not the keep probability rounded to the nearest float64")
    if (len(dataset1), len(dataset1[0])) != (1, 1):
        raise Rejected("a threshold is shown on datasets of one entry")
    return {
        "bits": bits,
        "threshold": show(rational(inputs["threshold"])),
        "ideal": bounds(other),
        "summary": f"the keep probability rounds to 1, so every symbol is released as it is; in exact arithmetic each "
        f"other one has the chance {other.str(3, radius=False)}, and no finite epsilon describes what runs",
    }


def _shown(value: arb) -> str:
    return f"{float(value.mid()):.6g}" if abs(float(value.mid())) > 1e-12 else "0"


def _laws(
    inputs: Mapping[str, Any], dataset1: Dataset, dataset2: Dataset
) -> tuple[list[dict[tuple[int, ...], Any]], tuple[int, ...]]:
    mechanism = inputs["mechanism"]
    (output,) = read_event([inputs["output"]], mechanism, dataset1)
    laws = [law_module(mechanism).law(mechanism, dataset) for dataset in (dataset1, dataset2)]
    if any(output not in law for law in laws):
        raise Rejected("the output is impossible in exact arithmetic already")
    return laws, output


_FORMS: Mapping[str, tuple[tuple[str, ...], Any]] = {
    "addition": (("format", "noise", "output"), _arithmetic),
    "product": (("format", "noise", "output", "factors"), _arithmetic),
    "gumbel": (("output", "bits", "slack"), _gumbel),
    "coin": (("output", "bits"), _coin),
    "threshold": (("threshold", "bits"), _threshold),
}
