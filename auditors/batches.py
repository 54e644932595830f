"""Outputs of many calls: a list of objects, or a pytree of arrays whose first axis is the samples."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def size_of(outputs: Any) -> int:
    """How many outputs there are."""
    if isinstance(outputs, list):
        return len(outputs)
    import jax

    return len(jax.tree.leaves(outputs)[0])


def head(outputs: Any, size: int) -> Any:
    """The first `size` outputs, or all there are."""
    if isinstance(outputs, list):
        return outputs[:size]
    import jax

    return jax.tree.map(lambda leaf: leaf[:size], outputs)


def taken(outputs: Any, places: np.ndarray) -> Any:
    """Outputs at some places, shape (number,)."""
    if isinstance(outputs, list):
        return [outputs[place] for place in places]
    import jax

    return jax.tree.map(lambda leaf: np.asarray(leaf)[places], outputs)


def joined(parts: Sequence[Any]) -> Any:
    """Several batches as one; a list where one of them is, or where their arrays differ in layout."""
    parts = [part for part in parts if not (isinstance(part, list) and not part)]
    if len(parts) <= 1:
        return parts[0] if parts else []
    if any(isinstance(part, list) for part in parts) or len({_layout(part) for part in parts}) > 1:
        return [output for part in parts for output in listed(part)]
    import jax

    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


def alike(sides: Sequence[Any]) -> list[Any]:
    """Outputs of both datasets as arrays of one layout, or both as lists."""
    if any(isinstance(side, list) for side in sides) or _layout(sides[0]) != _layout(sides[1]):
        return [listed(side) for side in sides]
    return list(sides)


def listed(outputs: Any) -> list[Any]:
    """One Python object for each sample."""
    if isinstance(outputs, list):
        return outputs
    import jax

    if isinstance(outputs, np.ndarray):
        return list(outputs)
    leaves, tree = jax.tree.flatten(outputs)
    return [jax.tree.unflatten(tree, row) for row in zip(*leaves, strict=True)]


def _layout(outputs: Any) -> str:
    import jax

    return str(jax.tree.map(lambda leaf: (leaf.shape[1:], leaf.dtype.kind), outputs))
