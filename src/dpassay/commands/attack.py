"""`dpassay attack`: its options are the fields of each attack's settings.

An attack needs JAX or SciPy, seconds of imports that `--help` and a misspelled option must not cost; settings do not.
"""

import importlib
import math
import types
from collections.abc import Collection, Mapping, Sequence
from dataclasses import Field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union, get_args, get_origin

import click
from click.core import ParameterSource

from dpassay.commands.output import Outputs, as_json, command_line, interruptible, path_type
from dpassay.commands.reading import FILES, given_ratings, rating_options
from dpassay.core.errors import InvalidInput
from dpassay.core.extras import library
from dpassay.data.reading import Reading
from dpassay.report.attack_text import ATTACKS

if TYPE_CHECKING:
    from dpassay.attacks.settings import AttackSettings

Kind: TypeAlias = "type[AttackSettings]"

# Where an attack has several kinds of settings, the method decides which.
SETTINGS: Mapping[str, tuple[str, ...]] = {
    "beta-knn": ("UserSettings", "ItemSettings"),
    "sketch": ("SketchSettings",),
    "reconstruction": ("ReconstructionSettings",),
    "presence": ("PresenceSettings",),
    "alterego": ("AlterEgoSettings",),
}


def kinds_of(name: str) -> tuple[Kind, ...]:
    """The settings of an attack.

    Raises:
        InvalidInput: the attacks are not installed; the message says what to install.
    """
    module = library(f"dpassay.attacks.{name.replace('-', '_')}.settings")
    return tuple(getattr(module, kind) for kind in SETTINGS[name])


class _Attacks(click.Group):
    """Builds a subcommand when it is asked for; a list of them needs none."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(SETTINGS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        return _subcommand(name, kinds_of(name)) if name in SETTINGS else None

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, f"{ATTACKS[name]}.") for name in SETTINGS])


@click.group(cls=_Attacks)
def attack() -> None:
    """Simulate an attack on a recommender, and report what it reached.

    Exits with 1 when a limit of --fail-above is exceeded.
    """


def _subcommand(name: str, kinds: Sequence[Kind]) -> click.Command:
    """The command of one attack: the union of the settings of its kinds, then what all attacks share."""
    chosen = {method: kind for kind in kinds for method in kind.methods()}
    texts = [_explanation(kind.__dataclass_fields__["method"]) for kind in kinds]
    method = click.Option(
        ["--method"],
        type=click.Choice(list(chosen)),
        default=kinds[0].__dataclass_fields__["method"].default,
        show_default=True,
        help=" ".join(dict.fromkeys(texts)),
    )
    explanation = f"{ATTACKS[name]}.\n\nExits with 1 when a limit of --fail-above is exceeded."

    @click.command(name, params=[method, *_options(kinds)], help=explanation, epilog=FILES)
    @click.option("--data", type=path_type(), help="Ratings, for example the folder ml-100k. Default: synthetic ones.")
    @rating_options
    @click.option("--seed", default=0, show_default=True, help="Seed of everything random.")
    @click.option(
        "--fail-above",
        multiple=True,
        metavar="METRIC=VALUE",
        help="Exit with 1 when the metric is above this value; repeat for more.",
    )
    @click.option("--json", "json_path", type=path_type(), help="Write the report as JSON.")
    @click.option("--html", "html_path", type=path_type(), help="Write the report, one self-contained HTML file.")
    @click.option(
        "--sarif", "sarif_path", type=path_type(), help="Write exceeded limits for code scanning, SARIF 2.1.0."
    )
    def command(**values: Any) -> int:
        return _simulate(name, chosen, **values)

    return command


def _own_settings(kind: Kind) -> dict[str, Field[Any]]:
    """The settings that are options of their own."""
    return {each.name: each for each in fields(kind) if each.name not in ("method", "seed")}


def _explanation(setting: Field[Any]) -> str:
    return str(setting.metadata["explanation"])


def _options(kinds: Sequence[Kind]) -> list[click.Option]:
    """One option for each setting; where kinds differ, its help says for which methods what holds."""
    owners: dict[str, list[Kind]] = {}
    for kind in kinds:
        for name in _own_settings(kind):
            owners.setdefault(name, []).append(kind)
    options = []
    for name, having in owners.items():
        first, *others = (_own_settings(kind)[name] for kind in having)
        texts = [_explanation(first)]
        for kind, other in zip(having[1:], others, strict=True):
            differing = [_explanation(other)] * (_explanation(other) != texts[0])
            differing += [f"The default is {other.default}."] * (other.default != first.default)
            if differing:
                texts.append(f"With {_named(kind)}: {' '.join(differing)}")
        texts += [f"Not with {_named(kind)}." for kind in kinds if kind not in having]
        options.append(_option(name, [each.type for each in (first, *others)], first.default, " ".join(texts)))
    return options


def _named(kind: Kind) -> str:
    """Its methods, which are listed side by side, in words."""
    first, *others = kind.methods()
    return f"methods {first} to {others[-1]}" if others else f"method {first}"


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
    kinds: Mapping[str, Kind],
    /,
    *,
    method: str,
    data: Path | None,
    reading: Reading,
    seed: int,
    fail_above: tuple[str, ...],
    json_path: Path | None,
    html_path: Path | None,
    sarif_path: Path | None,
    **settings: Any,
) -> int:
    """Runs the attack, prints and writes its report; returns the exit code."""
    kind = kinds[method]
    limits = _limits(fail_above, kind.metrics)
    outputs = Outputs(json_path, html_path, sarif_path)
    source = click.get_current_context().get_parameter_source
    given = {key: value for key, value in settings.items() if source(key) is not ParameterSource.DEFAULT}
    for key in sorted(given.keys() - _own_settings(kind).keys()):
        raise InvalidInput(f"--{key.replace('_', '-')} is not for --method {method}; leave it out")
    from dpassay.data.ratings import synthetic

    ratings = given_ratings(data, reading) or synthetic()
    from dpassay.report.attack_html import render_attack
    from dpassay.report.progress import Progress
    from dpassay.report.sarif import attack_to_sarif
    from dpassay.report.schema import validate_attack
    from dpassay.report.terminal import print_attack

    with interruptible("nothing was written"), Progress(f"attack {name}") as status:
        run = importlib.import_module(kind.report).run
        report = run(ratings, method=method, seed=seed, progress=status.note, **given)
    content = validate_attack(report.to_json(command_line(), limits))
    with outputs.attempt():
        print_attack(content)
    outputs.write(json_path, "attack", lambda: as_json(content))
    outputs.write(sarif_path, "code-scanning result", lambda: as_json(attack_to_sarif(content)))
    outputs.write(html_path, "report", lambda: render_attack(content))
    return outputs.exit_code(any(check["exceeded"] for check in content["checks"]))


def _limits(texts: Sequence[str], metrics: Collection[str]) -> dict[str, float]:
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
