"""Numbers and lines as every text of the program writes them, for people."""

import math
import re
import textwrap
from collections.abc import Iterable

WIDTH = 100  # characters of a printed line
REPOSITORY = "https://github.com/dpassay/dpassay"
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def page(path: str) -> str:
    """The address of a page of the documentation, which an installed package has not."""
    return f"{REPOSITORY}/blob/main/docs/{path}"


def rounded(value: float) -> float:
    """A number with three significant digits."""
    return float(f"{value:.3g}")


def rounded_up(value: float, digits: int = 4) -> float:
    """The smallest number of so many significant digits that is not below one, but for what floats round."""
    if not 0 < value < math.inf:
        return value
    step = 10.0 ** (math.floor(math.log10(value)) + 1 - digits)
    return float(f"{math.ceil(value / step * (1 - 1e-12)) * step:.{digits}g}")


def nats(value: float | str | None) -> str:
    """A privacy loss: four digits, `infinite`, nothing for None."""
    if value is None:
        return ""
    number = float(value)
    return f"{number:.4g}" if math.isfinite(number) else ("infinite" if number > 0 else "none")


def loss(lower: float | str | None, claimed: float | str | None) -> str:
    """The loss shown and the loss claimed, nats, in the width of a column; nothing when none was shown."""
    return " / ".join(nats(value) for value in (lower, claimed) if value is not None) if lower is not None else ""


def finding(outcome: str, misprint: str) -> str:
    """A verdict's outcome in the words of counts and headings: what is false by a misprint only says so."""
    return f"{outcome} (a misprint)" if misprint else outcome


def probability(log_probability: float | str) -> str:
    """A probability from its logarithm in nats: `impossible`, `certain`, or four digits."""
    value = float(log_probability)
    if value == -math.inf:
        return "impossible"
    if value >= 0:
        return "certain"
    if value > -1e-4:
        return f"1 - {-math.expm1(value):.2g}"
    if value > math.log(1e-4):
        return f"{math.exp(value):.4g}"
    return scientific(value)


def scientific(logarithm: float) -> str:
    """e to the logarithm, as digits times a power of ten; also far outside the range of floats."""
    exponent = math.floor(logarithm / math.log(10))
    digits = f"{math.exp(logarithm - exponent * math.log(10)):.3g}"
    if digits == "10":
        digits, exponent = "1", exponent + 1
    return f"{digits}\N{MULTIPLICATION SIGN}10{str(exponent).translate(SUPERSCRIPT)}"


def listed(names: Iterable[str]) -> str:
    """Names as a sentence lists them."""
    *rest, last = names
    return f"{', '.join(rest)} and {last}" if rest else last


def several(number: int, noun: str) -> str:
    """A number of things, as in "1 run" and "2,000 runs"; the noun in the singular."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def shortened(text: str, length: int = WIDTH) -> str:
    """The text on one line, its middle left out where it is longer than `length` characters."""
    text = " ".join(text.split())
    return text if len(text) <= length else f"{text[: length * 2 // 3]} ... {text[-length // 4 :]}"


def first_sentence(text: str) -> str:
    """The first sentence of an explanation, for a table."""
    return re.split(r"(?<=[^.]\.)\s+(?=[A-Z])", text, maxsplit=1)[0]


def labeled(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """A title and, below it, one paragraph for each label; a label "" goes on with the one before it."""
    shown = list(rows)
    width = max((len(label) for label, _ in shown), default=0) + 4
    paragraphs = (
        textwrap.fill(text, WIDTH, initial_indent=f"  {label}".ljust(width), subsequent_indent=" " * width)
        for label, text in shown
    )
    return "\n".join([*textwrap.wrap(title, WIDTH, subsequent_indent="  "), *paragraphs])


def under(label: str, texts: Iterable[str]) -> list[tuple[str, str]]:
    """Rows for `labeled`: the texts, empty ones left out, with the label beside the first."""
    return [("" if position else label, text) for position, text in enumerate(filter(None, texts))]
