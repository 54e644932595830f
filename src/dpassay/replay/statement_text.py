"""Expressions as a statement repeats them: what stands there must read as what was checked.

Python's parser drops comments and folds letters that look alike, and joined conditions bind as they please: a text that
means one thing to a checker could read as another.
"""

import ast
import re
import unicodedata
from typing import Any

from dpassay.replay import Rejected

_LETTERS = re.compile(r"[\w .,()+\-*/%<>=!|&]+")


def repeated(text: Any) -> str:
    """The text of an expression.

    Raises:
        Rejected: it is no text or number, or it holds more than names, numbers and operators on one line.
    """
    text = text if isinstance(text, str) else str(text) if type(text) in (int, float) else ""
    if not _LETTERS.fullmatch(text) or unicodedata.normalize("NFKC", text) != text:
        raise Rejected(f"a statement cannot repeat {text[:60]!r}: write names, numbers and operators alone")
    return text


def listed(texts: Any, what: str) -> list[str]:
    """Texts of expressions; raises `Rejected` where they are no list of those."""
    if not isinstance(texts, list | tuple):
        raise Rejected(f"{what}: give a list of expressions")
    return [repeated(text) for text in texts]


def assumptions(texts: Any) -> list[str]:
    """What is assumed, each so that it can be joined by "and"."""
    return [text if _is_comparison(text) else f"({text})" for text in listed(texts, "assume")]


def _is_comparison(text: str) -> bool:
    try:
        return isinstance(ast.parse(text.strip(), mode="eval").body, ast.Compare)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
