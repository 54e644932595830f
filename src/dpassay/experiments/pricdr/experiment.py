"""The experiment `pricdr`: Table 1 of Chen et al. (2022) for Douban Book to Music, and what the paper left out.

Their split and negatives, every model by the protocol of the released code and by a clean one (`ranking.PROTOCOLS`),
five seeds. Beside the printed rows stand recommenders that need no training.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import ModuleType
from typing import Any

import numpy as np

from dpassay.core.progress import Say, part, silent
from dpassay.core.records import Plot, Series, Table
from dpassay.experiments.pricdr.printed import METRICS, TABLE
from dpassay.experiments.pricdr.ranking import PROTOCOLS, evaluate
from dpassay.experiments.pricdr.sweeps import MODELS as PRICDR
from dpassay.experiments.pricdr.sweeps import given_task
from dpassay.experiments.request import Request
from dpassay.models import bpr, conet, cosine, darec, ddtcdr, dmf, etl, heterocdr, neumf, popularity, puresvd
from dpassay.models.task import Task
from dpassay.runs.kept import Kept, Planned
from dpassay.runs.parallel import PerWorker

SEEDS = 5
SHORT = 2
"""Epochs and seeds where the table is only shown to work."""


@dataclass(frozen=True)
class Entry:
    """A row of the table.

    Attributes:
        label: its name; the printed row of the same name stands beside it.
        module: has `train`; see `dpassay.models.task`.
        settings: for it.
        seeds: how many runs; 1 where chance plays no part.
    """

    label: str
    module: ModuleType
    settings: Any
    seeds: int = SEEDS


MODELS: tuple[Entry, ...] = (
    Entry("popularity", popularity, popularity.Settings(), seeds=1),
    Entry("item cosine", cosine, cosine.Settings("item"), seeds=1),
    Entry("user cosine", cosine, cosine.Settings("user"), seeds=1),
    Entry("user cosine, source only", cosine, cosine.Settings("source"), seeds=1),
    Entry("PureSVD", puresvd, puresvd.Settings(), seeds=1),
    Entry("BPR", bpr, bpr.Settings()),
    Entry("NeuMF", neumf, neumf.Settings()),
    Entry("DMF", dmf, dmf.Settings()),
    Entry("CoNet", conet, conet.Settings()),
    Entry("DDTCDR", ddtcdr, ddtcdr.Settings()),
    Entry("DARec", darec, darec.Settings()),
    Entry("ETL", etl, etl.Settings()),
    *(Entry(label, heterocdr, settings) for label, settings in PRICDR.items()),
)


def run(request: Request) -> dict[str, Any]:
    """Trains and tests `MODELS` on a task as `given_task` says; see `measured`."""
    return measured(given_task(request), request, MODELS)


def measured(task: Task, request: Request, models: Sequence[Entry], limit: int | None = None) -> dict[str, Any]:
    """Trains and tests every model with every seed; no `limit` of epochs takes the model's own number.

    Made-up data: two seeds. Quick: two seeds and two epochs.

    Returns:
        "inputs"; "runs", each the record of `ranking.evaluate` with "model", "seed" and "limit" (null for the model's
        own number); "tables", by both protocols, with the printed numbers if the task is theirs; for that task "plots".
    """
    limit = SHORT if request.quick else limit
    seeds = range(request.seed, request.seed + (SHORT if request.small else SEEDS))
    hashes = [entry["sha256"] for entry in task.inputs]
    runs: list[dict[str, Any]] = []
    total = sum(len(seeds[: entry.seeds]) for entry in models)
    for entry in models:
        about = [*hashes, repr(asdict(entry.settings))]
        finished = Kept(request.resume, about, __name__, entry.module.__name__)
        plan = []
        for own in seeds[: entry.seeds]:
            settings = {"model": entry.label, "seed": own, "limit": limit}
            given = entry.module.train, entry.settings, own, limit
            plan.append(Planned(settings, given, f"{entry.label}, seed {own}"))
        say = part(request.progress, len(runs) / len(plan), total / len(plan))
        runs += finished.all(plan, PerWorker(functools.partial, _trained, task), request.executor, say, tells=True)
    printed = TABLE.get(task.name, {})
    tables = [_table(runs, task.name, protocol, printed) for protocol in PROTOCOLS]
    result = {"inputs": list(task.inputs), "tables": [*tables, _effort(runs, models)], "runs": runs}
    return {**result, "plots": [_against_printed(runs, printed)]} if printed else result


def _trained(
    task: Task, train: Callable[..., Any], settings: Any, seed: int, limit: int | None, progress: Say = silent
) -> dict[str, Any]:
    return evaluate(train(task, settings, seed=seed), task, limit, progress)


def _by_model(runs: Sequence[Mapping[str, Any]], name: str) -> dict[str, np.ndarray]:
    """Of each model the numbers called `name`, shape (seeds,)."""
    labels = dict.fromkeys(run["model"] for run in runs)
    return {label: np.array([run[name] for run in runs if run["model"] == label]) for label in labels}


def _table(runs: Sequence[Mapping[str, Any]], name: str, protocol: str, printed: Mapping[str, Sequence[str]]) -> Table:
    """Mean and standard deviation over seeds of every metric, each beside the printed number."""
    columns = ["model", "runs"]
    rows: dict[str, list[Any]] = {}
    for index, metric in enumerate(METRICS):
        columns += [metric, "printed"] if printed else [metric]
        for label, values in _by_model(runs, f"{protocol}_{metric}").items():
            row = rows.setdefault(label, [label, len(values)])
            spread = f" ± {values.std(ddof=1):.4f}" if len(values) > 1 else ""
            row.append(f"{values.mean():.4f}{spread}")
            if printed:
                row.append(printed[label][index] if label in printed else "-")
    title = f"{name}: mean ± standard deviation over seeds; tested is {PROTOCOLS[protocol]}"
    return Table(title, columns, list(rows.values()))


def _effort(runs: Sequence[Mapping[str, Any]], models: Sequence[Entry]) -> Table:
    """What was trained with which hyper-parameters, for how long."""
    rows = []
    for entry in models:
        own = [run for run in runs if run["model"] == entry.label]
        settings = ", ".join(f"{name} {value}" for name, value in asdict(entry.settings).items())
        best = "/".join(str(run["epoch_NDCG"]) for run in own)
        seconds = np.median([run["seconds"] for run in own])
        rows.append([entry.label, own[0]["epochs"], best, f"{seconds:.1f}", settings or "-"])
    columns = ["model", "epochs", "best epoch by seed (NDCG@10)", "seconds, median", "hyper-parameters"]
    return Table("What was trained", columns, rows)


def _against_printed(runs: Sequence[Mapping[str, Any]], printed: Mapping[str, Sequence[str]]) -> Plot:
    """NDCG@10 of every printed model, ours by the authors' protocol against theirs."""
    series = []
    for label, values in _by_model(runs, "authors_NDCG10").items():
        if label in printed:
            theirs, ours = float(printed[label][METRICS.index("NDCG10")]), float(values.mean())
            series.append(Series(label, [theirs], [ours], low=[float(values.min())], high=[float(values.max())]))
    return Plot("NDCG@10 on Douban Book to Music, mean and range over seeds", "printed in Table 1", "here", series)
