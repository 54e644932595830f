"""The experiment `pricdr-sweeps`: what the published source adds to HeteroCDR, by epsilon, size, density and sparsity.

Every PriCDR is run beside controls that differ in the source only: noise of the same law (an empty matrix published by
the same mechanism), zeros, and the source in plain text; and beside the repaired sketch, which spends the same epsilon
and delta with the noise that the exact privacy profile asks for. Runs of the same seed share initial weights, batches
and the draw of the sketch.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array

from dpassay.core.errors import InvalidInput
from dpassay.core.progress import Say, silent
from dpassay.core.records import Plot, Table
from dpassay.data.reading import PLAIN
from dpassay.experiments.cells import difference, grouped, mean_series
from dpassay.experiments.pricdr.printed import TABLE_EPSILON
from dpassay.experiments.pricdr.ranking import evaluate
from dpassay.experiments.request import Request
from dpassay.models.heterocdr import Settings, released, train
from dpassay.models.task import Task, drawn_task, load_task, split_domains, synthetic_task
from dpassay.runs.kept import Kept, Planned
from dpassay.runs.parallel import PerWorker
from dpassay.runs.results import mean_interval

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
MAIN = (1.0, 8.0, 64.0)
ROWS = (100, 200, 400, 600, 800)
DENSITIES = (0.1, 0.3, 0.5, 0.7, 0.9)
SHARES = (1.0, 0.5, 0.25, 0.125)
READINGS: Mapping[str, Settings] = {"paper": Settings(), "released": released()}
SHOWN = ("HR10", "NDCG10")
SKETCH = ("epsilon", "w", "rows", "density")


def _settings(reading: str, target: Literal["dmf", "autoencoder"] = "dmf", **source: Any) -> Settings:
    base = READINGS[reading]
    return replace(base, target=target, source=replace(base.source, **{"epsilon": TABLE_EPSILON, **source}))


MODELS: Mapping[str, Settings] = {
    f"{model}{suffix}": settings
    for reading, suffix in (("paper", ""), ("released", " (released)"))
    for model, settings in (
        ("PriCDR-SYM", _settings(reading, "autoencoder")),
        ("PriCDR-J", _settings(reading)),
        ("PriCDR-S", _settings(reading, transform="sjlt")),
    )
}
"""The paper's own rows of Table 1, in both readings."""


@dataclass(frozen=True)
class Setting:
    """One point of a sweep: a model, the share of the source's ratings that is kept, and how many seeds."""

    settings: Settings
    share: float = 1.0
    seeds: int = 3

    @property
    def record(self) -> dict[str, Any]:
        """What says which run this is, flat."""
        settings = asdict(self.settings)
        source = settings.pop("source")
        return {"model": self.model, **settings, **source, "share": self.share}

    @property
    def model(self) -> str:
        """PriCDR-J, -S or -SYM, and what its source is unless that is the printed or the released sketch."""
        source = self.settings.source
        name = "PriCDR-S" if source.transform == "sjlt" else "PriCDR-J"
        if self.settings.target == "autoencoder":
            name = "PriCDR-SYM"
        if source.transform in ("plaintext", "zero"):
            return f"{name} on {source.transform}"
        if not source.ratings:
            return f"{name} on noise"
        return f"{name} repaired" if source.variant == "repaired" else name


def plan(reading: str) -> list[Setting]:
    """The runs of one reading, "paper" or "released".

    Settings that claims are judged by have five seeds, and so have zeros and noise at the epsilon of the table.

    Raises:
        InvalidInput: an unknown reading.
    """
    if reading not in READINGS:
        raise InvalidInput(f"reading is {reading!r}; use {' or '.join(READINGS)}")

    def points(seeds: int = 1, share: float = 1.0, **changed: Any) -> Setting:
        return Setting(_settings(reading, **changed), share, seeds)

    found = [points(5), points(5, epsilon=EPSILONS[0]), points(5, transform="sjlt")]
    found += [points(5, num_rows=rows) for rows in (ROWS[0], 400, ROWS[-1])]
    found += [points(5, transform="sjlt", density=density) for density in (DENSITIES[0], 0.5, DENSITIES[-1])]
    found += [points(5, SHARES[-1], transform=transform) for transform in ("jlt", "sjlt")]
    found += [points(5, transform="zero"), points(5, ratings=False), points(transform="plaintext")]
    for epsilon in MAIN[::-1]:
        found += [points(epsilon=epsilon, transform="sjlt"), points(epsilon=epsilon, ratings=False)]
        found.append(points(epsilon=epsilon, target="autoencoder"))
    for epsilon in EPSILONS:
        found += [points(epsilon=epsilon), points(epsilon=epsilon, variant="repaired")]
    found += [points(num_rows=rows) for rows in ROWS]
    found += [points(transform="sjlt", density=density) for density in DENSITIES]
    for share in SHARES[1:]:
        found += [points(share=share, transform=transform) for transform in ("jlt", "sjlt")]
        found.append(points(share=share, variant="repaired"))
    most: dict[tuple[Settings, float], Setting] = {}
    for setting in found:
        most.setdefault((setting.settings, setting.share), setting)  # the first has the most seeds
    return list(most.values())


def thinned(task: Task, share: float, *, seed: int = 0) -> Task:
    """The task with a random share of the source's ratings, at least one (the paper's sd).

    Raises:
        InvalidInput: `share` is not in (0, 1].
    """
    if not 0 < share <= 1:
        raise InvalidInput(f"share is {share}; it must be above 0 and at most 1")
    if share == 1:
        return task
    entries = task.source.tocoo()
    number = max(1, round(share * entries.nnz))
    kept = np.random.default_rng(seed).choice(entries.nnz, number, replace=False)
    places = tuple(axis[kept] for axis in entries.coords)
    return replace(task, source=csr_array((entries.data[kept], places), shape=task.source.shape))


def run(request: Request) -> dict[str, Any]:
    """Trains every setting of `plan`, both readings, on a task as `given_task` says.

    Made-up data: few settings and epochs. Quick: the controls and the printed sketch at two epsilons only, 30 epochs,
    two seeds.

    Raises:
        InvalidInput: ratings instead of a folder, or an unreadable one.
    """
    task = given_task(request)
    settings = [setting for reading in READINGS for setting in plan(reading)]
    if request.small:
        few = (
            _settings("released", transform="zero"),
            *(_settings("released", epsilon=e, ratings=r) for e in MAIN[::2] for r in (True, False)),
        )
        settings = [Setting(replace(s, epochs=3 if request.data is None else 30), seeds=2) for s in few]
    runs = _measured(task, settings, request)
    return {"inputs": list(task.inputs), "tables": _tables(runs, task.name), "plots": _plots(runs), "runs": runs}


def given_task(request: Request) -> Task:
    """The task that a request's data are, or without data a small synthetic one.

    Data are a folder of two domains' ratings and a split of the target's users (`dpassay.models.task.load_task`), or
    the rating files of two domains, or a folder with them (the source first, by name), whose split is drawn with the
    request's seed (`dpassay.models.task.drawn_task`).

    Raises:
        InvalidInput: other data, or unreadable ones.
    """
    if request.data is None:
        return synthetic_task()
    if request.folder is not None and (named := split_domains(request.folder)):
        if request.reading != PLAIN:
            raise InvalidInput("a folder with a split is read as it is; leave scale, format and duplicates out")
        return load_task(request.folder, *named)
    if pair := request.domains():
        return drawn_task(*pair, seed=request.seed)
    absent = isinstance(request.data, Path | str) and not Path(request.data).exists()
    problem = f"no folder {request.data}" if absent else "this experiment needs two domains"
    raise InvalidInput(
        f"{problem}; give their two rating files, the source first, or a folder that holds these alone, or one with "
        "SOURCE_ratings.csv.gz, TARGET_ratings.csv.gz and TARGET_split.csv.gz, such as Douban Book and Music"
    )


def _measured(task: Task, settings: Sequence[Setting], request: Request) -> list[dict[str, Any]]:
    """The records of all settings; the first seed of every one comes first."""
    finished = Kept(request.resume, [entry["sha256"] for entry in task.inputs], __name__)
    plan = []
    pairs = [(number, setting) for number in range(5) for setting in settings if number < setting.seeds]
    for place, (number, setting) in enumerate(pairs):
        own = request.seed + number
        source = setting.settings.source
        noise = None if source.transform in ("plaintext", "zero") else source.mechanism(task.num_users).noise
        told = (
            f"run {place + 1} of {len(pairs)}: {setting.settings.reading}, {setting.model}, epsilon {source.epsilon:g}"
        )
        plan.append(Planned({**setting.record, "noise": noise, "seed": own}, (setting, own, told), told))
    work = PerWorker(functools.partial, _trained, task)
    return finished.all(plan, work, request.executor, request.progress, tells=True)


def _trained(task: Task, setting: Setting, seed: int, told: str, progress: Say = silent) -> dict[str, Any]:
    epochs = train(thinned(task, setting.share, seed=seed), setting.settings, seed=seed)
    return evaluate(epochs, task, progress=lambda text: progress(f"{told}, {text}"))


def _groups(runs: Sequence[Mapping[str, Any]]) -> dict[tuple[Any, ...], list[Mapping[str, Any]]]:
    return grouped(runs, ("reading", "model", "epsilon", "num_rows", "density", "share"))


def _tables(runs: Sequence[Mapping[str, Any]], name: str) -> list[Table]:
    metrics = [(protocol, metric) for protocol in ("authors", "clean") for metric in SHOWN]
    rows = []
    for (reading, model, *_, share), group in sorted(_groups(runs).items()):
        cells = []
        for protocol, metric in metrics:
            mean, low, _ = mean_interval([run[f"{protocol}_{metric}"] for run in group])
            cells.append(f"{mean:.4f} +- {mean - low:.4f}" if len(group) > 1 else f"{mean:.4f}")
        rows.append([reading, model, *_sketch(group[0]), f"{share:g}", len(group), *cells])
    title = f"HeteroCDR on {name} by what the source publishes: mean and 95% interval over seeds"
    shown = [f"{metric} ({protocol})" for protocol, metric in metrics]
    whole = Table(title, ["reading", "model", *SKETCH, "share", "seeds", *shown], rows)
    return [whole, _against_controls(runs, name)]


def _sketch(run: Mapping[str, Any]) -> list[Any]:
    """What was published: the cells of `SKETCH`."""
    if run["noise"] is None:
        return ["-"] * len(SKETCH)
    sparse = run["transform"] == "sjlt" and run["variant"] != "repaired"
    return [f"{run['epsilon']:g}", f"{run['noise']:.3g}", run["num_rows"], f"{run['density']:g}" if sparse else "-"]


def _against_controls(runs: Sequence[Mapping[str, Any]], name: str) -> Table:
    """What a source adds to zeros, paired by seed."""
    controls = {(r["reading"], r["seed"]): r for r in runs if r["transform"] == "zero"}
    rows = []
    for (reading, model, *_, share), group in sorted(_groups(runs).items()):
        paired = [(run, controls[reading, run["seed"]]) for run in group if (reading, run["seed"]) in controls]
        if share != 1 or len(paired) < 2 or group[0]["transform"] == "zero":
            continue
        gains = ([a[f"authors_{metric}"] - b[f"authors_{metric}"] for a, b in paired] for metric in SHOWN)
        cells = [difference(*mean_interval(each)) for each in gains]
        rows.append([reading, model, *_sketch(group[0]), len(paired), *cells])
    title = f"What the source adds to a source of zeros on {name} (authors' protocol, paired by seed, 95%)"
    return Table(title, ["reading", "model", *SKETCH, "seeds", *SHOWN], rows)


def _plots(runs: Sequence[Mapping[str, Any]]) -> list[Plot]:
    """HR@10 and NDCG@10 by epsilon with the controls, and HR@10 by rows, density and share."""
    found = []
    for reading, base in READINGS.items():
        own = [run for run in runs if run["reading"] == reading]
        usual = {"num_rows": base.source.num_rows, "density": base.source.density, "share": 1.0}
        if not own:
            continue
        for metric in SHOWN:
            found.append(_plot(own, metric, "epsilon", "epsilon (nats), as the mechanism is told", usual))
        at_most = {**usual, "epsilon": TABLE_EPSILON}
        for key, label in (("num_rows", "rows published"), ("density", "density"), ("share", "share of the source")):
            fixed = {name: value for name, value in at_most.items() if name != key}
            found.append(_plot(own, "HR10", key, label, fixed))
    return [plot for plot in found if any(len(series.x) > 1 for series in plot.series)]


def _plot(runs: Sequence[Mapping[str, Any]], metric: str, key: str, label: str, fixed: Mapping[str, Any]) -> Plot:
    """Of the runs of one reading; those with the `fixed` settings, by another one."""
    sketched = [run for run in runs if run["noise"] is not None and all(run[k] == v for k, v in fixed.items())]
    places = sorted({run[key] for run in sketched})
    series = []
    for model in sorted({run["model"] for run in sketched}):
        own = [run for run in sketched if run["model"] == model]
        by_place = {x: [run[f"authors_{metric}"] for run in own if run[key] == x] for x in places}
        series.append(mean_series(model, {x: values for x, values in by_place.items() if values}))
    for control in ("zero", "plaintext"):
        group = [run for run in runs if run["transform"] == control]
        if group and places:
            values = [run[f"authors_{metric}"] for run in group]
            series.append(mean_series(group[0]["model"], {places[0]: values, places[-1]: values}))
    name = f"{metric[:-2]}@10"
    title = f"{name} by {label.partition(',')[0]}, {runs[0]['reading']} settings (authors' protocol)"
    return Plot(title, label, name, series, x_scale="log" if key in ("epsilon", "share") else None)
