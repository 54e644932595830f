"""Features of the floats themselves: what rounding, finite random bits and grids betray about the data.

A mechanism that adds a float to a float is not the real-valued mechanism its proof speaks of. Three traces are known:

* Precision (Mironov 2012, "On significance of the least significant bits for differential privacy"; Haney et al. 2022,
  "Precision-based attacks and interval refining"): 0 + noise has bits that 1 + noise has no room for. Columns: the last
  bit, the exponent, the number of trailing zeros, the sign bit.
* Holes (Mironov 2012, Section 4): noise made of a k-bit uniform number u is Q(u) for a quantile function Q, so only 2^k
  numbers occur, and answer + Q(u) meets another set for another answer. Instead of inverting a sampler's arithmetic we
  undo Q: 2^k F(output - answer) is near an integer (up to a common shift) for the true answer and anything for a wrong
  one. Answer, scale and shift are learned from training samples.
* Lattices: noise on a grid added to an answer that is not on it leaves the answer's remainder. Columns: remainders
  modulo steps for which training samples show few values; equality with values that occur often.

Every column is a fixed function of the output, so judging by it is post-processing: a mechanism whose executed law is
private passes, whatever the columns are.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

ZERO = 64.0  # the last bit of 0, which every power of two divides: above every other value that is told apart
LOWEST = -1074.0  # the last bit of the smallest float64
STEPS = (1.0, 0.1, 0.01, 0.001, 2.0**-4, 2.0**-8, 2.0**-12, 2.0**-16, 2.0**-20, 2.0**-24, 2.0**-30, 2.0**-36, 2.0**-44)
RESOLUTION = 2.0**16  # remainders are told apart to this part of the step
MOST_REMAINDERS = 32  # distinct remainders of one lattice
FREQUENT = 0.002  # of the training samples of one dataset: a value that occurs so often may be one of its own
MOST_VALUES = 16  # frequent values with a place of their own
WIDEST = 16  # output columns up to which each gets its own features; beyond, the vector's extremes only
TAIL = 512  # training samples on which a hypothesis about the noise is tried
FEWEST = 24  # below so many, nothing is learned about the noise
RADIUS = 0.35  # rounding error, in steps of the uniform number, beyond which an output tells nothing
MARGIN = 0.04  # added to the rounding error: the shift of the grid is learned
TRIED = 96  # training samples on which all hypotheses are tried; the best is confirmed on all
CONCENTRATION = 0.8  # mean resultant length of the phases that makes a hypothesis; chance reaches exp(-FEWEST * 0.64)


def columns(values: Any, names: Sequence[str] | None = None) -> tuple[np.ndarray, tuple[str, ...]]:
    """Features of the representation that need no training.

    Args:
        values: floats, shape (n, d) or (n,); numbers that are not finite are taken as 0.
        names: of the d columns; default "output" or "output[0]", "output[1]", ...

    Returns:
        Shape (n, c), float64 and finite, and the c names.
    """
    values = _table(values)
    names = _names(values, names)
    parts: list[tuple[str, np.ndarray]] = []
    last, zeros = _last_bit(values), _trailing_zeros(values)
    exponent = np.where(values == 0, LOWEST, np.frexp(values)[1] - 1.0)  # floor(log2 |value|)
    if values.shape[1] <= WIDEST:
        for place, name in enumerate(names):
            parts += [
                (f"log2 of the largest power of two that divides {name}", last[:, place]),
                (f"binary exponent of {name}", exponent[:, place]),
                (f"trailing zero bits of {name}", zeros[:, place]),
                (f"sign bit of {name}", np.signbit(values[:, place]).astype(float)),
            ]
    if values.shape[1] > 1:
        parts += [
            ("log2 of the largest power of two that divides every output", last.min(axis=1)),
            ("log2 of the largest power of two that divides some output", last.max(axis=1)),
            ("trailing zero bits that every output has", zeros.min(axis=1)),
            ("mean number of trailing zero bits of an output", zeros.mean(axis=1)),
        ]
    return np.stack([part for _, part in parts], axis=1), tuple(name for name, _ in parts)


@dataclass(frozen=True)
class BitColumns:
    """Learned features of the representation: those of `columns`, and those that training samples called for.

    Attributes:
        names: of the columns.
        discrete: which of them take few values.
        found: one sentence for each thing the training samples showed.
    """

    inputs: tuple[str, ...]
    extras: tuple["_Extra", ...]
    kept: tuple[int, ...]
    names: tuple[str, ...]
    discrete: tuple[bool, ...]
    found: tuple[str, ...] = ()

    def __call__(self, values: Any) -> np.ndarray:
        """Features of `values`, array (n, d) -> (n, c), float64 and finite."""
        values = _table(values)
        plain = columns(values, self.inputs)[0][:, list(self.kept)]
        return np.concatenate([plain, *(extra(values)[:, None] for extra in self.extras)], axis=1)


def fit(values1: Any, values2: Any, names: Sequence[str] | None = None) -> BitColumns:
    """Learns which features of the representation may tell two datasets apart, from training samples of both.

    Args:
        values1: array (n, d) of floats: outputs under dataset 1. Some 20,000 rows find holes; few rows find less.
        values2: under dataset 2.
        names: of the d columns.

    Returns:
        A fixed map from outputs to columns. Columns that are constant on the training samples are left out.
    """
    first, second = _table(values1), _table(values2)
    inputs = _names(first, names)
    both = np.concatenate([first, second])
    plain, plain_names = columns(both, inputs)
    kept = tuple(np.flatnonzero(np.ptp(plain, axis=0) > 0).tolist())
    extras: list[_Extra] = []
    if first.shape[1] <= WIDEST:
        for place, name in enumerate(inputs):
            sides = first[:, place], second[:, place]
            extras += [*_frequent(place, name, *sides), *_lattices(place, name, *sides), *_holes(place, name, *sides)]
    return BitColumns(
        inputs,
        tuple(extras),
        kept,
        tuple([plain_names[place] for place in kept] + [extra.name for extra in extras]),
        tuple([not plain_names[place].startswith("mean") for place in kept] + [True for _ in extras]),
        tuple(dict.fromkeys(extra.found for extra in extras)),
    )


@dataclass(frozen=True)
class _Extra:
    """One learned column: `compute` of the values at `place`, shape (n,) -> (n,)."""

    place: int
    name: str
    found: str
    compute: Callable[[np.ndarray], np.ndarray]

    def __call__(self, values: np.ndarray) -> np.ndarray:
        return self.compute(values[:, self.place])


# --- frequent values and lattices ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Equality:
    """The place of the exact value among frequent ones, from 1; 0 where it is none of them."""

    values: tuple[float, ...]

    def __call__(self, outputs: np.ndarray) -> np.ndarray:
        table = np.array(self.values)
        place = np.minimum(np.searchsorted(table, outputs), len(table) - 1)
        return np.where(table[place] == outputs, place + 1.0, 0.0)


@dataclass(frozen=True)
class _Remainder:
    """The output modulo a step, as a fraction of it in [0, 1), to 16 bits: sums of rounded floats stay together."""

    step: float

    def __call__(self, outputs: np.ndarray) -> np.ndarray:
        fraction = np.remainder(outputs, self.step) / self.step
        return np.rint(fraction * RESOLUTION) % RESOLUTION / RESOLUTION


def _frequent(place: int, name: str, first: np.ndarray, second: np.ndarray) -> list[_Extra]:
    """One column that tells frequent values apart, unless there are more than `MOST_VALUES` of them."""
    chosen: dict[float, int] = {}
    for side in (first, second):
        found, counts = np.unique(side, return_counts=True)
        for value, count in zip(found.tolist(), counts.tolist(), strict=True):
            if count > max(2, FREQUENT * len(side)):
                chosen[value] = max(chosen.get(value, 0), count)
    if not chosen:
        return []
    ranked = sorted(chosen, key=chosen.__getitem__, reverse=True)[:MOST_VALUES]
    shown = ", ".join(f"{value!r}" for value in ranked[:3]) + (", ..." if len(ranked) > 3 else "")
    text = f"which of the frequent exact values ({shown}) {name} is"
    return [_Extra(place, text, f"{name} takes some exact values often: {shown}", _Equality(tuple(sorted(ranked))))]


def _lattices(place: int, name: str, first: np.ndarray, second: np.ndarray) -> list[_Extra]:
    """Remainders modulo the two steps that tell the training samples apart best by few values."""
    found = []
    for step in STEPS:
        remainder = _Remainder(step)
        (values1, counts1), (values2, counts2) = (np.unique(remainder(s), return_counts=True) for s in (first, second))
        every = np.union1d(values1, values2)
        few = len(values1) <= min(MOST_REMAINDERS, len(first) // 4)
        few |= len(values2) <= min(MOST_REMAINDERS, len(second) // 4)
        if few and len(every) > 1:
            shares = np.zeros((2, len(every)))
            shares[0, np.searchsorted(every, values1)] = counts1 / len(first)
            shares[1, np.searchsorted(every, values2)] = counts2 / len(second)
            found.append((-round(float(np.maximum(shares[0] - shares[1], 0).sum()), 2), len(every), step))
    extras = []
    for _, _, step in sorted(found)[:2]:
        text = f"remainder of {name} modulo {_power(step)}, as a fraction of it"
        sentence = f"{name} lies on a lattice of step {_power(step)} plus an offset"
        extras.append(_Extra(place, text, sentence, _Remainder(step)))
    return extras


# --- holes -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Noise:
    """A hypothesis: output = answer + noise, the noise a quantile function of a uniform number on a grid of 2^-bits.

    The column is 0 where rounding hides the grid, 1 where the answer reaches the output, 2 where it cannot.
    """

    family: str
    answer: float
    scale: float
    bits: int
    shifts: tuple[float, float]  # of the grid below and above the answer, in steps
    single: bool

    def __call__(self, outputs: np.ndarray) -> np.ndarray:
        steps, radius = _steps(self.family, outputs, self.answer, self.scale, self.bits, self.single)
        shift = np.where(outputs < self.answer, *self.shifts)
        distance = np.abs(np.remainder(steps - shift + 0.5, 1) - 0.5)
        unknown = (radius > RADIUS) | np.isnan(shift)
        return np.where(unknown, 0.0, np.where(distance > radius + MARGIN, 2.0, 1.0))


def _steps(
    family: str, outputs: Any, answer: Any, scale: Any, bits: Any, single: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Tail probabilities of the noise in grid steps, and how far rounding may have moved them."""
    unit = 2.0**-24 if single else 2.0**-53
    noise = outputs - answer
    far = np.abs(noise) / scale
    if family == "Laplace":
        tail, hazard = np.exp(-np.minimum(far, 700.0)), 1.0
    else:
        tail = special.erfc(np.minimum(far, 25.0) / math.sqrt(2))
        hazard = far + 1.0  # density over tail of a normal is below this
    steps = np.ldexp(tail, bits)
    # Errors: the output's rounding, the noise's own (a quantile function is good to about two units), and ours.
    error = unit * (np.abs(outputs) + 3 * np.abs(noise)) / scale + 2.0**-53 * (far + 2)
    return steps, steps * hazard * error


def _holes(place: int, name: str, first: np.ndarray, second: np.ndarray) -> list[_Extra]:
    extras = []
    for side in (first, second):
        noise = _learn_noise(side)
        if noise is not None:
            text = f"{noise.answer:g} + {noise.family} noise of scale {noise.scale:g} from {noise.bits}-bit numbers"
            extras.append(
                _Extra(
                    place,
                    f"whether {name} can be {text} (0 cannot tell, 1 yes, 2 no)",
                    f"{name} is {text}: numbers between are never released",
                    noise,
                )
            )
    return extras


def _learn_noise(outputs: np.ndarray) -> _Noise | None:
    """The answer, scale and grid under which the tail probabilities of the outputs are whole numbers of steps."""
    if len(outputs) < 8 * FEWEST:
        return None
    single = bool((outputs.astype(np.float32) == outputs).all())
    center = float(np.median(outputs))
    spread = np.abs(outputs - center)
    # From the far tail inwards: there rounding hides the grid least.
    far = outputs[np.argsort(-spread)[: 4 * TAIL]]
    slack = 5 / math.sqrt(len(outputs))
    for family, estimate in (("Laplace", float(spread.mean())), ("normal", float(np.sqrt((spread**2).mean())))):
        if not (math.isfinite(estimate) and estimate > 0):
            continue
        answers, scales = _simple(center, 1.5 * slack * estimate), _simple_scales(estimate, slack * estimate)
        grid = np.array(list(itertools.product(answers, scales)))
        for bits in range(20, 26) if single else range(49, 55):  # the coarsest grid that fits tells most
            _, radius = _steps(family, far, center, estimate, bits, single)
            clear = far[radius < RADIUS / 2][-TAIL:]  # the innermost of those that tell
            tails = clear[clear < center], clear[clear >= center]
            for tail in tails:
                strength, index = _concentrated(family, tail[-TRIED:], grid, bits, single)
                if strength >= CONCENTRATION:
                    answer, scale = (float(value) for value in grid[index])
                    below, above = (_shift(family, tail, answer, scale, bits, single) for tail in tails)
                    return _Noise(family, answer, scale, bits, (below, above), single)
    return None


def _concentrated(family: str, tail: np.ndarray, grid: np.ndarray, bits: int, single: bool) -> tuple[float, int]:
    """Of all (answer, scale), the one under which the phases agree most: mean resultant length, and its place."""
    if len(tail) < FEWEST or len(grid) == 0:
        return 0.0, 0
    lengths = []
    for part in np.array_split(grid, max(1, len(grid) * len(tail) // 500_000)):
        lengths.append(np.abs(_phase(family, tail, part[:, :1], part[:, 1:], bits, single)))
    strengths = np.concatenate(lengths)
    index = int(np.argmax(strengths))
    return float(strengths[index]), index


def _shift(family: str, tail: np.ndarray, answer: float, scale: float, bits: int, single: bool) -> float:
    """Where the grid of one tail lies, in steps; NaN where the tail shows none."""
    if len(tail) < FEWEST:
        return math.nan
    mean = complex(_phase(family, tail, answer, scale, bits, single))
    return math.atan2(mean.imag, mean.real) / (2 * math.pi) if abs(mean) >= CONCENTRATION else math.nan


def _phase(family: str, tail: np.ndarray, answer: Any, scale: Any, bits: int, single: bool) -> Any:
    return np.exp(2j * np.pi * _steps(family, tail, answer, scale, bits, single)[0]).mean(axis=-1)


def _simple(center: float, width: float) -> np.ndarray:
    """Numbers with few decimals within `width` of `center`: the answers people have."""
    for unit in (0.001, 0.01, 0.1, 0.25, 0.5, 1.0):
        count = 2 * width / unit
        if count <= 64:
            ticks = np.arange(math.floor((center - width) / unit), math.ceil((center + width) / unit) + 1)
            # Dividing gives the double nearest to the decimal number; multiplying would not.
            return np.unique(ticks / round(1 / unit))
    return np.unique(np.round(np.arange(math.floor(center - width), math.ceil(center + width) + 1))[:512])


def _simple_scales(center: float, width: float) -> np.ndarray:
    """Scales near the estimate that are sensitivity / epsilon for short decimal numbers, or their square root."""
    decade = 10.0 ** math.floor(math.log10(center))
    numbers = np.arange(100, 1000)
    short = np.concatenate([numbers * decade / 100, numbers * decade / 1000, numbers * decade / 10])
    decimals = np.array([float(f"{value:.3g}") for value in short])
    inverse = 1 / np.array([float(f"{1 / value:.3g}") for value in decimals])
    ratios = np.array([p / q for p in range(1, 41) for q in range(1, 41)])
    every = np.unique(np.concatenate([decimals, inverse, ratios]))
    return every[np.abs(every - center) <= width]


# --- bits ------------------------------------------------------------------------------------------------------------


def _table(values: Any) -> np.ndarray:
    array = np.asarray(values)
    array = array.astype(float).reshape(len(array), -1)
    return np.where(np.isfinite(array), array, 0.0)


def _names(values: np.ndarray, names: Sequence[str] | None) -> tuple[str, ...]:
    if names is not None:
        return tuple(names)
    return ("output",) if values.shape[1] == 1 else tuple(f"output[{place}]" for place in range(values.shape[1]))


def _trailing_zeros(values: np.ndarray) -> np.ndarray:
    """Zero bits at the end of the 53-bit significand; 53 for 0."""
    bits = np.abs(values).view(np.int64)
    significand = bits & (2**52 - 1) | np.where(bits >> 52, 2**52, 0)
    lowest = significand & -significand
    return np.where(significand == 0, 53.0, np.log2(np.maximum(lowest, 1).astype(float)))


def _last_bit(values: np.ndarray) -> np.ndarray:
    """v such that the value is an odd multiple of 2^v; `ZERO` for 0 and beyond."""
    exponent = np.maximum((np.abs(values).view(np.int64) >> 52) - 1075, LOWEST)
    return np.where(values == 0, ZERO, np.minimum(exponent + _trailing_zeros(values), ZERO))


def _power(step: float) -> str:
    exponent = math.log2(step)
    return f"2^{exponent:.0f}" if exponent.is_integer() and step < 1 else f"{step:g}"
