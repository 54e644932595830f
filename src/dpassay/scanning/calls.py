"""Calls of functions of which only the signature is known: arguments by their names, data in several forms."""

import inspect
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

EPSILON, DELTA = 0.5, 1e-5
"""Not 1, at which epsilon and its reciprocal are the same."""
FILLED = {
    "epsilon": EPSILON,
    "delta": DELTA,
    "sensitivity": 1.0,
    "lower": 0.0,
    "upper": 1.0,
    "bounds": (0.0, 1.0),
    "size": 4,
}
"""What is given to parameters of a role, where they have no default."""

_NAMES: Mapping[str, str] = {
    "generator": r"rng|generator|prng|random_generator|np_random|rand",
    "seed": r"random_state|seed|random_seed|rng_seed",
    "epsilon": r"epsilon|eps|(total_|privacy_|dp_|local_)(epsilon|eps)|(privacy_)?budget|privacy_level",
    "delta": r"delta|dp_delta|target_delta",
    "sensitivity": r"sensitivity|(l1|l2|global|query|max)_sensitivity|sens",
    "lower": r"lower|lower_bound|low|min_?val(ue)?|lo|minimum|clip_min|a_min",
    "upper": r"upper|upper_bound|high|max_?val(ue)?|hi|maximum|clip_max|a_max|clip|clipping_bound|bound",
    "bounds": r"bounds|range|value_range|data_range|clipping_bounds",
    "size": r"k|d|(n_?|num_)?bins|domain(_size)?|num_(categories|classes|values|buckets)|n_(categories|classes)",
    "records": r"data|dataset|values|vals|xs?|records|samples|arr(ay)?|a|df|dataframe|column|series|db|database|points",
    "vector": r"(true_|query_)?(counts|scores|answers|frequencies)|hist(ogram)?|utilities|qualities|queries|vector",
    "value": r"val|v|(true_|real_|query_)?(value|answer|result|count|response|output)|number|truth|bit|statistic",
    "steps": r"steps|num_steps|n_steps|iterations|num_compositions|compositions|n_queries|num_queries|rounds|t|k|n",
    "noise": r"sigma|noise_multiplier|noise_scale|std|noise_std|z",
    "rate": r"q|sampling_(rate|probability|prob|ratio)|sample_rate|batch_ratio",
}


def role(name: str, annotation: Any = inspect.Parameter.empty) -> str:
    """What a parameter is, by its annotation or its name."""
    shown = str(annotation)
    if "Generator" in shown and "random" in shown:
        return "generator"
    plain = name.strip("_").lower()
    found = next((each for each, pattern in _NAMES.items() if re.fullmatch(pattern, plain)), "other")
    scalar = annotation in (int, float, bool) or shown in ("int", "float", "bool")
    if found in ("records", "vector") and scalar:
        return "value"
    return found


class Form(NamedTuple):
    """One way to hand data over."""

    name: str
    made: Callable[[Any], Any]


def _frame(data: Any) -> Any:
    import pandas as pd

    return pd.DataFrame({"value": data})


AS_IT_IS = Form("as it is", lambda data: data)
FORMS = (
    AS_IT_IS,
    Form("array", lambda data: np.array(data, float)),
    Form("column", lambda data: np.array(data, float).reshape(-1, 1)),
    Form("table", _frame),
)


@dataclass
class Call:
    """`fn(rng, dataset)` made of a function, or of a class and its method; the data's form is learned by trying.

    Attributes:
        function: what is called, or built.
        fixed: arguments that never change, by name.
        data: the parameter that takes the dataset; of a method its own.
        generators: parameters -> "generator" or "seed".
        method: of the object that `function` builds; "" for none.
        method_fixed: its arguments.
        form: in which the data are handed over; None where that is not known yet.
    """

    function: Callable[..., Any]
    fixed: Mapping[str, Any]
    data: str
    generators: Mapping[str, str] = field(default_factory=dict)
    method: str = ""
    method_fixed: Mapping[str, Any] = field(default_factory=dict)
    form: Form | None = None

    def __call__(self, rng: np.random.Generator, dataset: Any) -> Any:
        """Draws one output."""
        if self.form is not None:
            return self._called(rng, self.form.made(dataset))
        problem: Exception | None = None
        for form in FORMS:
            try:
                output = self._called(rng, form.made(dataset))
            except Exception as error:  # the function's own, whatever it raises
                problem = problem or error
                continue
            self.form = form
            return output
        assert problem is not None
        raise problem

    def _called(self, rng: np.random.Generator, data: Any) -> Any:
        given = dict(self.fixed) | {name: _random(kind, rng) for name, kind in self.generators.items()}
        if not self.method:
            return self.function(**given, **{self.data: data})
        return getattr(self.function(**given), self.method)(**{self.data: data}, **self.method_fixed)

    def text(self) -> str:
        """The source, in lower case; "" where it cannot be had."""
        try:
            return inspect.getsource(self.function).lower()
        except (OSError, TypeError):
            return ""

    def shown(self) -> str:
        """The call as an expression of `rng` and `data`."""
        data = {"array": "np.array(data, float)", "column": "np.array(data, float).reshape(-1, 1)"}
        data["table"] = 'pd.DataFrame({"value": data})'
        handed = data.get(self.form.name, "data") if self.form else "data"
        given = [f"{name}={value!r}" for name, value in self.fixed.items()]
        given += [f"{name}={_SHOWN[kind]}" for name, kind in self.generators.items()]
        called = self.function.__qualname__
        if not self.method:
            return f"{called}({', '.join([f'{self.data}={handed}', *given])})"
        more = [f"{self.data}={handed}", *(f"{name}={value!r}" for name, value in self.method_fixed.items())]
        return f"{called}({', '.join(given)}).{self.method}({', '.join(more)})"


_SHOWN = {"generator": "rng", "seed": "int(rng.integers(2**32))"}


def _random(kind: str, rng: np.random.Generator) -> Any:
    return rng if kind == "generator" else int(np.random.Generator(rng.bit_generator).integers(2**32))


def seed_all(seed: int) -> None:
    """Seeds what functions draw from that take no generator. What asks the system draws what it draws."""
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002 - it is theirs
