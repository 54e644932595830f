"""`dpassay attack`: its options are the settings of each attack's `run`, read from the source without importing it.

An attack needs JAX or SciPy, seconds of imports that `--help` and a misspelled option must not cost.
"""

import ast
import importlib
import importlib.util
import inspect
import json
import math
import re
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import click
from click.core import ParameterSource

from dpassay.commands.output import VIOLATED, command_line, interruptible, path_type, writable
from dpassay.core.certificate import write_text
from dpassay.core.errors import InvalidInput
from dpassay.report.attack_text import ATTACKS

__all__ = ["attack"]

# Where an attack has several modules, the method decides which one runs.
MODULES: Mapping[str, tuple[str, ...]] = {
    "beta-knn": ("dpassay.attacks.beta_knn.report", "dpassay.attacks.beta_knn.items"),
    "sketch": ("dpassay.attacks.sketch.report",),
    "reconstruction": ("dpassay.attacks.reconstruction",),
    "presence": ("dpassay.attacks.presence",),
    "alterego": ("dpassay.attacks.alterego",),
}
COMMON = ("ratings", "method", "seed", "progress")  # of every `run`; the other arguments are settings


class _Attacks(click.Group):
    """Builds a subcommand when it is asked for; a list of them needs none."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(MODULES)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        return _subcommand(name, [_read(module) for module in MODULES[name]]) if name in MODULES else None

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, f"{ATTACKS[name]}.") for name in MODULES])


@click.group(cls=_Attacks)
def attack() -> None:
    """Simulate an attack on a recommender, and report what it reached.

    Exits with 1 when a limit of --fail-above is exceeded.
    """


@dataclass(frozen=True)
class _Module:
    """What the command line must know of a module that attacks.

    Attributes:
        name: to import it by.
        run: its entry point, to be inspected only.
        methods: its METHODS.
        metrics: its METRICS, the names that it reports.
    """

    name: str
    run: Callable[..., Any]
    methods: tuple[str, ...]
    metrics: tuple[str, ...]

    @property
    def settings(self) -> dict[str, inspect.Parameter]:
        """The arguments of `run` that are this module's own."""
        return {name: one for name, one in inspect.signature(self.run).parameters.items() if name not in COMMON}

    @property
    def explained(self) -> dict[str, str]:
        """What the Args section of the docstring says about each argument, as sentences."""
        lines = inspect.cleandoc(self.run.__doc__ or "").partition("\nArgs:\n")[2].splitlines()
        found: dict[str, str] = {}
        name = ""
        for line in lines:
            start = re.fullmatch(r" {4}(\w+): *(.*)", line)
            if line and not line.startswith(" "):
                break  # the next section
            if start:
                name, found[start[1]] = start[1], start[2]
            elif name and line.strip():
                found[name] += f" {line.strip()}"
        return {key: self._sentence(text) for key, text in found.items()}

    def _sentence(self, text: str) -> str:
        """With a capital, except where a method or a symbol such as k comes first; with a full stop."""
        word = re.split(r"[\s,.:;]", text, maxsplit=1)[0]
        kept = word in self.methods or (len(word) == 1 and word != "a")
        return (text if kept else text[:1].upper() + text[1:]).rstrip(".") + "."

    @property
    def named(self) -> str:
        """Its methods, which are listed side by side, in words."""
        first, *others = self.methods
        return f"methods {first} to {others[-1]}" if others else f"method {first}"


def _read(module: str) -> _Module:
    """From the source alone where that suffices; constants that something computes need the module itself."""
    source = _Source(module)
    try:
        return _Module(module, source.run(), tuple(source["METHODS"]), tuple(source["METRICS"]))
    except Exception:
        imported = importlib.import_module(module)
        return _Module(module, imported.run, tuple(imported.METHODS), tuple(imported.METRICS))


class _Source(dict[str, Any]):
    """The constants of a module by name, each evaluated when it is first asked for; nothing else of the module runs.

    A class or a function is an empty stand-in, enough to be the value in a table of methods.
    """

    def __init__(self, module: str) -> None:
        super().__init__()
        self.module = module
        spec = importlib.util.find_spec(module)
        if spec is None or spec.origin is None:
            raise InvalidInput(f"this installation has no {module}; install dpassay again")
        self.nodes = ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body

    def __missing__(self, name: str) -> Any:
        for node in self.nodes:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                    self[name] = eval(compile(ast.Expression(node.value), self.module, "eval"), {}, self)
                    return self[name]
            elif isinstance(node, ast.ImportFrom | ast.Import):
                for alias in node.names:
                    if name == (alias.asname or alias.name):
                        self[name] = _imported(node, alias.name)
                        return self[name]
            elif isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
                self[name] = type(name, (), {})
                return self[name]
        raise KeyError(name)

    def run(self) -> Callable[..., Any]:
        """The module's `run`, to be inspected: with its docstring, and with method and settings as all arguments."""
        (node,) = (each for each in self.nodes if isinstance(each, ast.FunctionDef) and each.name == "run")
        pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        kept = [(each, default) for each, default in pairs if each.arg == "method" or each.arg not in COMMON]
        node.args.args, node.args.kwonlyargs = [], [each for each, _ in kept]
        node.args.kw_defaults, node.returns = [default for _, default in kept], None
        exec(compile(ast.Module([node], []), self.module, "exec"), {}, self)
        function: Callable[..., Any] = self.pop("run")
        return function


def _imported(node: ast.ImportFrom | ast.Import, name: str) -> Any:
    if isinstance(node, ast.Import):
        return importlib.import_module(name)
    assert node.module is not None, "relative imports are not used here"
    if node.module.startswith("dpassay."):
        return _Source(node.module)[name]
    return getattr(importlib.import_module(node.module), name)


def _subcommand(name: str, modules: Sequence[_Module]) -> click.Command:
    """The command of one attack: the union of its modules' settings, then what all attacks share."""
    chosen = {method: module for module in modules for method in module.methods}
    return click.Command(
        name,
        params=[
            click.Option(
                ["--method"],
                type=click.Choice(list(chosen)),
                default=inspect.signature(modules[0].run).parameters["method"].default,
                show_default=True,
                help=" ".join(dict.fromkeys(module.explained["method"] for module in modules)),
            ),
            *_settings(modules),
            click.Option(
                ["--data"], type=path_type(), help="Ratings, for example the folder ml-100k. Default: synthetic ones."
            ),
            click.Option(["--seed"], default=0, show_default=True, help="Seed of everything random."),
            click.Option(
                ["--fail-above"],
                multiple=True,
                metavar="METRIC=VALUE",
                help="Exit with 1 when the metric is above this value; repeat for more.",
            ),
            click.Option(["--json", "json_path"], type=path_type(), help="Write the report as JSON."),
            click.Option(
                ["--html", "html_path"], type=path_type(), help="Write the report, one self-contained HTML file."
            ),
            click.Option(
                ["--sarif", "sarif_path"],
                type=path_type(),
                help="Write exceeded limits for code scanning, SARIF 2.1.0.",
            ),
        ],
        callback=partial(_simulate, name, chosen),
        help=f"{ATTACKS[name]}.\n\nExits with 1 when a limit of --fail-above is exceeded.",
    )


def _settings(modules: Sequence[_Module]) -> list[click.Option]:
    """One option for each setting; where modules differ, its help says for which methods what holds."""
    owners: dict[str, list[_Module]] = {}
    for module in modules:
        for name in module.settings:
            owners.setdefault(name, []).append(module)
    options = []
    for name, having in owners.items():
        first, *others = having
        default, text = first.settings[name].default, first.explained.get(name, "")
        texts = [text]
        for other in others:
            words, own = other.explained.get(name, ""), other.settings[name].default
            differing = [words] * (words != text) + [f"The default is {own}."] * (own != default)
            if differing:
                texts.append(f"With {other.named}: {' '.join(differing)}")
        texts += [f"Not with {each.named}." for each in modules if each not in having]
        options.append(_option(name, [each.settings[name].annotation for each in having], default, " ".join(texts)))
    return options


def _option(name: str, annotations: Sequence[Any], default: Any, text: str) -> click.Option:
    """The option of a setting whose annotation is int, float, str, bool, a Literal, or one of these or None."""
    plain: list[Any] = []
    for annotation in annotations:
        union = get_origin(annotation) in (Union, types.UnionType)
        plain += [each for each in (get_args(annotation) if union else (annotation,)) if each is not types.NoneType]
    flag = name.replace("_", "-")
    shown: dict[str, Any] = {"default": default, "show_default": default is not None, "help": text}
    choices = [value for each in plain if get_origin(each) is Literal for value in get_args(each)]
    if choices:
        return click.Option([f"--{flag}"], type=_OneOf(choices), **shown)
    if bool in plain:
        return click.Option([f"--{flag}/--no-{flag}"], **shown)
    kind = next((each for each in (str, float, int) if each in plain), None)
    if kind is None:
        raise TypeError(f"setting {name} is annotated {plain[0]}; use int, float, str, bool or Literal")
    return click.Option([f"--{flag}"], type=kind, **shown)


class _OneOf(click.Choice[str]):
    """One of the values of a Literal, which need not be strings."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = {str(value): value for value in values}
        super().__init__(list(self.values))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return self.values[super().convert(str(value), param, ctx)]


def _simulate(
    name: str,
    modules: Mapping[str, _Module],
    /,
    *,
    method: str,
    data: Path | None,
    seed: int,
    fail_above: tuple[str, ...],
    json_path: Path | None,
    html_path: Path | None,
    sarif_path: Path | None,
    **settings: Any,
) -> int:
    """Runs the attack, prints and writes its report; returns the exit code."""
    chosen = modules[method]
    limits = _limits(fail_above, chosen.metrics)
    for path in (json_path, html_path, sarif_path):
        writable(path)
    source = click.get_current_context().get_parameter_source
    given = {key: value for key, value in settings.items() if source(key) is not ParameterSource.DEFAULT}
    for key in sorted(given.keys() - chosen.settings.keys()):
        raise InvalidInput(f"--{key.replace('_', '-')} is not for --method {method}; leave it out")
    if data is None:
        from dpassay.data.ratings import synthetic

        ratings = synthetic()
    else:
        from dpassay.data.rating_files import load_ratings

        ratings = load_ratings(data)
    from dpassay.report.schema import validate_attack
    from dpassay.report.terminal import live_status, print_attack

    with interruptible("nothing was written"), live_status(f"attack {name}") as status:
        run = importlib.import_module(chosen.name).run
        report = run(ratings, method=method, seed=seed, progress=status.note, **given)
    content = validate_attack(report.to_json(command_line(), limits))
    print_attack(content)
    if json_path is not None:
        write_text(json_path, json.dumps(content, indent=1) + "\n")
        click.echo(f"attack in {json_path}")
    if sarif_path is not None:
        from dpassay.report.sarif import attack_to_sarif

        write_text(sarif_path, json.dumps(attack_to_sarif(content), indent=1) + "\n")
        click.echo(f"code-scanning result in {sarif_path}")
    if html_path is not None:
        from dpassay.report.attack_html import render_attack

        write_text(html_path, render_attack(content))
        click.echo(f"report in {html_path}")
    return VIOLATED if any(check["exceeded"] for check in content["checks"]) else 0


def _limits(texts: Sequence[str], metrics: Sequence[str]) -> dict[str, float]:
    """Metric -> the value above which the attack counts as too successful; refuses one that is not in `metrics`."""
    limits: dict[str, float] = {}
    for text in texts:
        name, _, number = text.partition("=")
        try:
            limit = float(number)
        except ValueError:
            limit = math.nan
        if not name or not math.isfinite(limit):
            raise InvalidInput(f"--fail-above {text!r}: write METRIC=VALUE with a number, for example advantage=0.1")
        if name in limits:
            raise InvalidInput(f"--fail-above {name} is given twice; keep one limit for each metric")
        if name not in metrics:
            raise InvalidInput(f"no metric is called {name!r}; choose from {', '.join(metrics)}")
        limits[name] = limit
    return limits
