"""diffprivlib: mechanisms, functions (tools) and models become samplers; the claim is the epsilon they are given."""

import copy
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from dpassay.adapters import AdaptedMechanism
from dpassay.core.errors import InvalidInput
from dpassay.core.extras import library
from dpassay.core.privacy import PrivacyClaim


def from_diffprivlib(
    subject: Any,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    output: Callable[[Any], Any] | None = None,
    **options: Any,
) -> AdaptedMechanism:
    """Wraps something of diffprivlib; its random state is drawn from the audit's generator, so runs repeat.

    Args:
        subject: a mechanism (its `randomise` takes the dataset); a function such as `tools.mean` (called with the
            dataset, epsilon and options); or a model (fitted to the dataset, a tuple of arrays such as (X, y)).
        epsilon: for a function, required; else the subject's own.
        delta: a probability; else the subject's own, or 0.
        output: of a fitted model, what an attacker sees, for example `lambda model: model.coef_`.
        options: further keyword arguments of a function.

    Raises:
        InvalidInput: diffprivlib is missing, or the subject is none of these or lacks its epsilon or output.
    """
    base = library("diffprivlib.mechanisms.base")
    if isinstance(subject, base.DPMechanism):
        draw = functools.partial(_mechanism, subject)
    elif hasattr(subject, "fit") and hasattr(subject, "set_params"):
        if output is None:
            raise InvalidInput("say what of the fitted model is released: output=lambda model: model.coef_")
        draw = functools.partial(_model, subject, output)
    elif callable(subject) and not isinstance(subject, type):
        if epsilon is None:
            raise InvalidInput("a function of diffprivlib needs epsilon=...")
        draw = functools.partial(_function, subject, {"epsilon": epsilon, **options})
    else:
        raise InvalidInput(
            f"from_diffprivlib needs a mechanism, a function or a model, got {getattr(subject, '__name__', subject)!r}"
        )
    if options and not callable(subject):
        raise InvalidInput(f"{type(subject).__name__} takes no options here: set {sorted(options)[0]} on the object")
    stated = getattr(subject, "epsilon", None) if epsilon is None else epsilon
    probability = getattr(subject, "delta", 0.0) if delta is None else delta
    return AdaptedMechanism(draw, claim=PrivacyClaim(stated, probability))  # type: ignore[arg-type]


def _mechanism(mechanism: Any, rng: np.random.Generator, dataset: Any) -> Any:
    seeded = copy.copy(mechanism)
    # Its constructor, which would take a seed, is not told from the object; this is all it does with the seed.
    seeded._rng = _random_state(rng)
    return seeded.randomise(dataset)


def _function(function: Any, options: dict[str, Any], rng: np.random.Generator, dataset: Any) -> Any:
    accountant = library("diffprivlib.accountant").BudgetAccountant()  # the default one never forgets
    return function(dataset, random_state=_random_state(rng), accountant=accountant, **options)


def _model(model: Any, output: Callable[[Any], Any], rng: np.random.Generator, dataset: Any) -> Any:
    accountant = library("diffprivlib.accountant").BudgetAccountant()
    fitted = copy.deepcopy(model)
    fitted.set_params(random_state=_random_state(rng), accountant=accountant)
    fitted.fit(*dataset)
    return output(fitted)


def _random_state(rng: np.random.Generator) -> np.random.RandomState:
    """NumPy's legacy generator over the same bits, as diffprivlib wants it."""
    return np.random.RandomState(rng.bit_generator)
