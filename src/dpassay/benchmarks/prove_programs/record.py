"""What is known of a program of the corpus, and datasets to run it on."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

Outcome = Literal["holds", "refuted", "beyond"]


@dataclass(frozen=True)
class Program:
    """One mechanism, what it claims, and what is true of it.

    Attributes:
        function: `function(rng, data, **public parameters)`, ordinary Python; an `int` annotation makes an integer, and
            `list[int]` a list of integers.
        relation: as for `dp.prove`.
        outcome: what is true, proved in the source or here; "beyond" where nobody knows, or no finite witness exists.
        source: paper and algorithm.
        claim: epsilon, nats, or rho of zCDP where `zcdp`: an expression in the parameters.
        assume: what the claim assumes of the parameters.
        bounds: smallest and largest entry, numbers or expressions in the parameters; None for any real number.
        parameters: values to run it with; epsilon is among them.
        pair: neighboring datasets that come near the claim, or break it.
        unless: a condition on the parameters under which a program that is "refuted" holds.
        hard: an `open` is what we expect of the prover.
        known: published or computed figures, in words.
    """

    function: Callable[..., Any]
    relation: str
    outcome: Outcome
    source: str
    claim: str = "epsilon"
    zcdp: bool = False
    assume: tuple[str, ...] = ()
    bounds: tuple[Any, Any] | None = None
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"epsilon": 1.0})
    pair: tuple[Any, Any] = ([], [])
    unless: str = ""
    hard: bool = False
    known: str = ""

    @property
    def name(self) -> str:
        """The function's."""
        return self.function.__name__

    def claimed(self) -> float:
        """The claim at `parameters`, nats (or rho)."""
        return float(eval(self.claim, {"log": np.log, "exp": np.exp, "sqrt": np.sqrt, "max": max}, {**self.parameters}))

    def run(self, rng: np.random.Generator, data: Any) -> Any:
        """One output at `parameters`."""
        return self.function(rng, data, **self.parameters)

    def random_data(self, rng: np.random.Generator, size: int) -> Any:
        """Entries of the function's type within the bounds, `size` of them, or one where the data is one value."""
        annotation = list(inspect.signature(self.function).parameters.values())[1].annotation
        low, high = (eval(str(each), {}, {**self.parameters}) for each in self.bounds or (-3, 3))
        whole = annotation in (int, list[int])
        drawn = rng.integers(low, high, size=size, endpoint=True) if whole else rng.uniform(low, high, size=size)
        return drawn.tolist()[0] if annotation in (int, float) else drawn.tolist()
