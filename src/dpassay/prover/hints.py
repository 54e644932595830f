"""What lint looks for, and how Python is read for it: draws, seeds, generators, and what a module's functions share."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

RULES: Mapping[str, tuple[str, str]] = {
    "fixed-seed": (
        "The seed of the noise is written in the code",
        "Whoever reads the code can take the noise off. Let the caller pass a generator that was seeded by the system.",
    ),
    "noise-drawn-once": (
        "The noise is drawn once for the whole process",
        "All releases share it, so their differences are exact. Draw inside the function, in every call.",
    ),
    "domain-from-data": (
        "Bounds, bins or categories are computed from private data",
        "They tell of the data, and a changed record moves them. Fix them beforehand, or spend a part of the budget.",
    ),
    "length-released": (
        "The number of records gets into the output without noise",
        "It is public only where neighboring datasets have the same length (replace_one). Else add noise to it.",
    ),
    "raw-value-released": (
        "A value of the data gets into the output without noise",
        "Release what noise was added to, or what was computed from that.",
    ),
    "generator-not-passed": (
        "Randomness does not come from the generator that the function was given",
        "Runs cannot be repeated or audited, and the noise may be seeded elsewhere. Draw from the given generator, and "
        "pass it to every function that draws.",
    ),
    "private-condition": (
        "A condition on private data, without noise, decides about noise or output",
        "Whether noise was added, how much, or when it ends tells the condition. Decide by a noisy value, or draw in "
        "both cases alike.",
    ),
    "gaussian-above-one": (
        "sqrt(2 ln(1.25/delta)) is used with epsilon above 1",
        "This noise is proved for epsilon below 1 only. Compute it exactly (Balle and Wang 2018), or claim zCDP.",
    ),
}
"""Identifier -> what is seen, and how to mend it."""

NOISE = {
    "laplace",
    "normal",
    "standard_normal",
    "exponential",
    "standard_exponential",
    "gumbel",
    "geometric",
    "logistic",
}
DRAWS = NOISE | {
    *("random", "uniform", "integers", "randint", "choice", "choices", "sample", "permutation", "shuffle", "binomial"),
    *("poisson", "gauss", "normalvariate", "expovariate", "randrange", "rand", "randn", "bytes"),
}
_STANDARD = {"random", "uniform", "randint", "choice", "choices", "sample", "shuffle", "gauss", "expovariate"}
"""What Python's own `random` draws."""
BUDGETS = {"epsilon", "eps", "rho", "delta", "budget"}
_PUBLIC = (
    BUDGETS
    | {"scale", "sigma", "sensitivity", "size", "shape", "n", "k", "p", "low", "high", "loc", "seed"}
    | {"ratio", "probability", "dtype"}
)
"""Names of parameters that are no data; so are those that begin with num_."""
GENERATORS = {"rng", "generator", "prng", "random_state", "random_generator"}
SEEDED = {"default_rng", "seed", "RandomState", "PCG64", "Philox", "MT19937", "SeedSequence", "Random", "PRNGKey"}
_CACHES = {"cache", "lru_cache", "cached_property"}


@dataclass(frozen=True, order=True)
class Hint:
    """One hint.

    Attributes:
        file: as it was named.
        line: from 1.
        rule: a key of `RULES`.
        function: which it is in, "" at the top of the module.
        code: the text of the place, shortened.
    """

    file: str
    line: int
    rule: str
    function: str
    code: str

    @property
    def message(self) -> str:
        """What is seen and how to mend it, in one line."""
        what, mend = RULES[self.rule]
        return f"{what} (`{self.code}`). {mend}"

    def to_json(self) -> dict[str, Any]:
        """A JSON-able record."""
        names = ("file", "line", "rule", "function", "code", "message")
        return {"kind": "hint", **{name: getattr(self, name) for name in names}}


Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(body: list[ast.stmt], within: str = "") -> Iterator[tuple[Function, str]]:
    """Functions and methods, those inside others too, with their names."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{within}{statement.name}"
            if not isinstance(statement, ast.ClassDef):
                yield statement, name
            yield from functions(statement.body, f"{name}.")


def called(node: ast.AST) -> str:
    """The last name of what is called: `np.random.laplace` is "laplace"."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def dotted(node: ast.AST) -> str:
    """`np.random.laplace` of such a node, "" of any other."""
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return node.id if isinstance(node, ast.Name) else ""


def draws(node: ast.AST, names: set[str] = DRAWS) -> bool:
    """Whether a call draws from a generator: `laplace` of `rng`, of `self.rng`, of `np.random` or of `random`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in names:
        return False
    source = dotted(node.func.value)
    if source == "random":
        return node.func.attr in _STANDARD
    if source.startswith("jax"):
        return False  # keys are passed by hand there
    known = source.rpartition(".")[2].lstrip("_") in GENERATORS | {"random"}
    return known or called(node.func.value) == "default_rng"


def draws_inside(node: ast.AST, names: set[str] = DRAWS) -> list[ast.Call]:
    """Calls that draw when the node is run: those in a lambda wait for its call."""
    if isinstance(node, ast.Lambda):
        return []
    own = [node] if isinstance(node, ast.Call) and draws(node, names) else []
    return [*own, *(each for child in ast.iter_child_nodes(node) for each in draws_inside(child, names))]


def constant_seed(node: ast.AST) -> bool:
    """Whether a call seeds a generator with what stands in the code."""
    if not isinstance(node, ast.Call) or called(node) not in SEEDED or not (node.args or node.keywords):
        return False
    return all(
        isinstance(each, ast.Constant) and isinstance(each.value, int | str | bytes)
        for each in (*node.args, *(keyword.value for keyword in node.keywords))
    )


def arguments_of(function: Function) -> list[ast.arg]:
    """The parameters, `self` left out."""
    arguments = function.args
    return [each for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs) if each.arg != "self"]


def is_generator(argument: ast.arg) -> bool:
    """Whether a parameter takes a random generator, by its name or its annotation."""
    annotation = "" if argument.annotation is None else ast.unparse(argument.annotation)
    return argument.arg.lstrip("_") in GENERATORS or annotation.endswith(("Generator", "RandomState"))


def is_public(argument: ast.arg) -> bool:
    """Whether the name of a parameter says that it is no data."""
    return argument.arg in _PUBLIC or argument.arg.startswith("num_")


class Module:
    """A module: what its functions share."""

    def __init__(self, tree: ast.Module, file: str) -> None:
        self.tree, self.file = tree, file
        self.takes_generator = {
            function.name: place
            for function, name in functions(tree.body)
            if "." not in name
            for place, argument in enumerate(arguments_of(function))
            if is_generator(argument)
        }
        self.global_generators: dict[str, ast.Call] = {}
        self.global_noise: dict[str, ast.AST] = {}
        for statement in tree.body:
            if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
                targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                for target in targets:
                    if isinstance(target, ast.Name) and called(statement.value) in SEEDED:
                        self.global_generators[target.id] = statement.value  # type: ignore[assignment]
                    elif isinstance(target, ast.Name) and draws_inside(statement.value, NOISE):
                        self.global_noise[target.id] = statement.value

    def hint(self, rule: str, node: ast.AST, function: str = "") -> Hint:
        """A hint on a place in this module."""
        code = " ".join(ast.unparse(node).split())
        return Hint(
            self.file, getattr(node, "lineno", 1), rule, function, code if len(code) <= 60 else f"{code[:56]} ..."
        )

    def once(self) -> Iterator[Hint]:
        """Seeds and noise of the module, where functions draw or read them; noise in defaults and behind caches."""
        for function, name in functions(self.tree.body):
            for default in (*function.args.defaults, *filter(None, function.args.kw_defaults)):
                if draws_inside(default):
                    yield self.hint("noise-drawn-once", default, name)
            cached = any(
                dotted(each).rpartition(".")[2] in _CACHES or called(each) in _CACHES
                for each in function.decorator_list
            )
            for node in ast.walk(function):
                if cached and draws(node, NOISE):
                    yield self.hint("noise-drawn-once", node, name)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                    if node.id in self.global_noise and node.id not in _stored(function):
                        yield self.hint("noise-drawn-once", self.global_noise[node.id])
                    seeded = self.global_generators.get(node.id)
                    if seeded is not None and constant_seed(seeded) and node.id not in _stored(function):
                        yield self.hint("fixed-seed", seeded)
        for statement in self.tree.body:
            if isinstance(statement, ast.Expr) and constant_seed(statement.value) and draws_inside(self.tree, NOISE):
                yield self.hint("fixed-seed", statement.value)

    def gaussians(self) -> Iterator[Hint]:
        """The classical bound with an epsilon above 1 in its function: a default, an assignment or a divisor."""
        for function, name in functions(self.tree.body):
            if any(_above_one(each) for each in _epsilons(function)):
                yield from (
                    self.hint("gaussian-above-one", node, name) for node in ast.walk(function) if _classical(node)
                )
        names = {function.name for function, _ in functions(self.tree.body) if any(map(_classical, ast.walk(function)))}
        for node in ast.walk(self.tree):
            if called(node) in names and any(k.arg in _EPSILONS and _above_one(k.value) for k in node.keywords):  # type: ignore[attr-defined]
                yield self.hint("gaussian-above-one", node)


CLASSICAL = "1.25"
"""What a text has that uses the classical Gaussian mechanism."""
_EPSILONS = ("epsilon", "eps")


def _epsilons(function: Function) -> Iterator[ast.AST]:
    """What epsilon is in a function, as far as it stands there."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaulted = positional[len(positional) - len(arguments.defaults) :]
    pairs = [
        *zip(defaulted, arguments.defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    yield from (default for argument, default in pairs if default is not None and argument.arg in _EPSILONS)
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and any(getattr(each, "id", "") in _EPSILONS for each in node.targets):
            yield node.value
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and any(map(_classical, ast.walk(node.left))):
            yield node.right


def _above_one(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and node.value > 1


def _classical(node: ast.AST) -> bool:
    """sqrt(2 log(1.25/delta)), by `sqrt` or by the power 0.5."""
    if called(node) == "sqrt":
        inner: ast.AST = node.args[0] if node.args else node  # type: ignore[attr-defined]
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        inner = node.left
    else:
        return False
    return any(
        called(each) == "log"
        and any(isinstance(c, ast.Constant) and c.value == float(CLASSICAL) for c in ast.walk(each))
        for each in ast.walk(inner)
    )


def _stored(function: Function) -> set[str]:
    stored = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return stored | {argument.arg for argument in arguments_of(function)}
