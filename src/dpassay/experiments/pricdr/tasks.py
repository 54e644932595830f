"""The experiment `pricdr-tasks`: the other five tasks of Chen et al. (2022), made up, a quarter of their size.

Their data cannot be had here. Users, items and ratings of Table 3 are divided by four and preferences made up
(`synthetic_task`), so that nothing in the table says how good a model is on the real task: it shows that every model
trains at these shapes, and how much the source of a task in which both domains share their users' tastes can add.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from dpassay.core.errors import InvalidInput
from dpassay.core.progress import part
from dpassay.core.records import Table
from dpassay.data.pricdr_tasks import TASKS
from dpassay.experiments.pricdr import experiment as pricdr
from dpassay.experiments.request import Request
from dpassay.models.task import Task, synthetic_task

OTHERS = tuple(name for name in TASKS if name != "Douban Book to Music")
EPOCHS, MANY = 10, 1000
"""At most so many epochs on a task of more than so many users, where shapes are what is tried: one epoch of the largest
takes a minute. Smaller tasks are trained for as long as each model's source says."""
SCALE, QUICK_SCALE = 4, 8
SHOWN = ("HR10", "NDCG10")
SIZES: Mapping[str, Callable[[Task], Any]] = {
    "task": lambda task: task.name,
    "users": lambda task: task.num_users,
    "source items": lambda task: task.num_source_items,
    "target items": lambda task: task.num_target_items,
    "source ratings": lambda task: task.source.nnz,
    "target ratings for training": lambda task: task.target.nnz,
}


def scaled(name: str, scale: int, *, seed: int = 0) -> Task:
    """A made-up task with users, items and ratings of one of `TASKS` divided by `scale`.

    Raises:
        InvalidInput: no such task, or so large a scale that too little is left.
    """
    if name not in TASKS:
        raise InvalidInput(f"no task is called {name!r}; choose from {', '.join(TASKS)}")
    sizes = {what: size // scale for what, size in asdict(TASKS[name]).items()}
    made = synthetic_task(**sizes, seed=seed)
    return replace(made, name=f"made up, 1/{scale} of {name}")


def run(request: Request) -> dict[str, Any]:
    """Trains and tests every model once on each of the five tasks.

    There are no data: what is not made up is `experiment pricdr`. Quick: the last task only, at an eighth of its size,
    two epochs.

    Raises:
        InvalidInput: data are given.
    """
    if request.data is not None:
        raise InvalidInput("pricdr-tasks makes its data up; for real ones run `experiment pricdr --data FOLDER`")
    models = [replace(entry, seeds=1) for entry in pricdr.MODELS]
    names, scale = (OTHERS[-1:], QUICK_SCALE) if request.quick else (OTHERS, SCALE)
    tasks = {name: scaled(name, scale, seed=request.seed) for name in names}
    runs = {}
    for place, (name, task) in enumerate(tasks.items()):
        own = replace(request, progress=part(request.progress, place, len(tasks)))
        runs[name] = pricdr.measured(task, own, models, EPOCHS if task.num_users > MANY else None)["runs"]
    return {
        "inputs": [entry for task in tasks.values() for entry in task.inputs],
        "tables": [_accuracy(runs), Table.of("The made-up tasks", SIZES, tasks.values())],
        "runs": [{"task": tasks[name].name, **run} for name, own in runs.items() for run in own],
    }


def _accuracy(runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> Table:
    """Of the runs of every task, which are the same models in the same order."""
    rows = [
        [own[0]["model"], *(f"{run[f'authors_{metric}']:.4f}" for run in own for metric in SHOWN)]
        for own in zip(*runs.values(), strict=True)
    ]
    title = f"Made-up tasks, one seed, authors' protocol; at most {EPOCHS} epochs for more than {MANY} users"
    return Table(title, ["model", *(f"{name}: {metric}" for name in runs for metric in SHOWN)], rows)
