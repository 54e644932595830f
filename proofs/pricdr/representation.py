"""What floating point does to the sketches of PriCDR (Chen et al.): CD-EXE."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpassay.mechanisms import mechanism
from dpassay.mechanisms.jlt import centered, lifted
from dpassay.proofs.representation import difference, executed, parameters
from dpassay.replay.floating import reaches

IDEAL: Mapping[tuple[str, str], str] = {
    ("jlt", "paper"): "CD-T52",
    ("jlt", "released"): "CD-T52-REL",
    ("jlt", "repaired"): "CD-T52-REP",
    ("sjlt", "paper"): "CD-SJLT",
    ("sjlt", "released"): "CD-SJLT-REL",
    ("sjlt", "repaired"): "CD-SJLT-REP",
}
"""(id, variant) -> the claim about its ideal law."""


decide_executed = executed(
    ("jlt", "sjlt"),
    "The transform multiplies the lifted ratings by random floats and releases the rounded products. Which floats are "
    "products of a given number depends on the number: with one item, two users and one row, a number that the code "
    "released for one dataset is no product for its neighbor, whatever the random float is, and about one released "
    "number in twelve is of that kind, far more than delta = 1/10000. So the executed code keeps neither epsilon nor "
    "(epsilon, delta), also where the ideal law does. Our column sketch adds float noise to a rating and has the same "
    "fault, as frequent; in addition every Gaussian comes from one 32-bit word, so that it takes at most 2^32 values.",
)


def _gaussian_sketch() -> list[dict[str, Any]]:
    """One item, two users, one row; at epsilon = 6/5 many floats are no products with the lifted entry."""
    built = mechanism("jlt", num_rows=1, epsilon=1.2)
    datasets = [[1, 3]], [[2, 3]]
    with jax.enable_x64(True):
        lift = jax.jit(lambda matrix: jnp.abs(lifted(centered(matrix), built.noise)[0, 0]))
        stated = [Fraction(float(lift(np.array(dataset, float)))) for dataset in datasets]
    draw = jax.jit(jax.vmap(lambda key: built.sample(key, np.array(datasets[0], float))[0, 0]))
    for number in np.asarray(draw(jax.random.split(jax.random.key(0), 256))):
        output = Fraction(float(number))
        noises = reaches("product", stated[0], output, "float64")
        if noises and not reaches("product", stated[1], output, "float64"):
            own = {"format": "float64", "noise": str(noises[0]), "output": str(output)}
            described = parameters("jlt", "paper", num_rows=1, epsilon=1.2)
            both = [str(value) for value in stated]
            return [difference("product", described, "replace_one:rating", *datasets, **own, factors=both)]
    return []


def _column_sketch() -> list[dict[str, Any]]:
    """One item, one user, one row: without the rating the noise is released alone, with it a rating is added."""
    built = mechanism("sjlt", "repaired", num_rows=1)
    draw = jax.jit(jax.vmap(lambda key: built.sample(key, np.full((1, 1), np.nan))[0, 0]))
    released = np.asarray(draw(jax.random.split(jax.random.key(0), 256)))
    for number in released:
        output = Fraction(float(number))
        if not any(reaches("addition", Fraction(rating), output, "float64") for rating in (1, -1)):
            own = {"format": "float64", "noise": str(output), "output": str(output)}
            described = parameters("sjlt", "repaired", num_rows=1)
            return [difference("addition", described, "add_or_remove_one:rating", [[None]], [[1]], **own)]
    return []


DIFFERENCES: Mapping[tuple[str, str], Callable[[], list[dict[str, Any]]]] = {
    ("jlt", "paper"): _gaussian_sketch,
    ("sjlt", "repaired"): _column_sketch,
}
