"""What simulating the beta-kNN attack costs, against the numbers of users, items and fakes.

The ratings are synthetic, of the sizes of the MovieLens sets: long-tail popularity and activity, values of no meaning.
They and the attack are kept sparse; no matrix of users by items is ever made.
"""

import resource
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpassay.attacks.beta_knn.recommender import Recommender
from dpassay.attacks.beta_knn.settings import Attack, UserMethod
from dpassay.attacks.beta_knn.sweeps import sweep
from dpassay.attacks.beta_knn.users import Scene, simulate
from dpassay.benchmarks.literal_sybils import drawn_lists, shares_shown, with_fakes
from dpassay.core.records import Plot, Series, Table
from dpassay.data.ratings import Ratings
from dpassay.runs.parallel import processors

SIZES: dict[str, tuple[int, int, int]] = {
    "MovieLens 100K": (943, 1682, 100_000),
    "MovieLens 1M": (6040, 3706, 1_000_209),
    "MovieLens 25M": (162_541, 59_047, 25_000_095),
}
TARGETS = {"MovieLens 100K": None, "MovieLens 1M": 1000, "MovieLens 25M": 100}
METHODS: tuple[UserMethod, ...] = ("knn", "npns", "pncf", "ppns")
BETAS = (1.0, 2.0, 4.0, 8.0)
GROWING = {
    "users": tuple((1000 * factor, 4000, 100_000 * factor) for factor in (1, 4, 16, 64)),
    "items": tuple((4000, 1000 * factor, 400_000) for factor in (1, 4, 16, 64)),
}
"""What grows -> (users, items, ratings): as many ratings per user."""
OURS = 100  # targets that our seconds beside the literal attack are an average of


def long_tail(num_users: int, num_items: int, num_ratings: int, seed: int = 0) -> Ratings:
    """Synthetic ratings in whole stars, as sparse as asked for.

    Users and items fall off as 1 / (rank + 10)^0.8 in expectation; pairs are drawn independently, repeats are drawn
    again.
    """
    generator = np.random.default_rng(seed)

    def drawn(size: int, count: int) -> np.ndarray:
        total = np.cumsum((np.arange(size) + 10.0) ** -0.8)
        return np.searchsorted(total, generator.random(count) * total[-1], side="right")

    cells = np.empty(0, np.int64)
    while len(cells) < num_ratings:
        more = num_ratings - len(cells) + num_ratings // 20
        fresh = drawn(num_users, more) * num_items + drawn(num_items, more)
        cells = np.unique(np.concatenate([cells, fresh]))
    cells = np.sort(generator.permutation(cells)[:num_ratings])
    values = generator.choice(np.arange(1.0, 6.0), num_ratings, p=[0.06, 0.11, 0.27, 0.35, 0.21])
    users, items = np.divmod(cells, num_items)
    return Ratings(users, items, values, num_users, num_items, name=f"synthetic {num_users} x {num_items}")


def tables(quick: bool = False, seed: int = 0, progress: Callable[[str], None] = lambda _: None) -> tuple[Table, ...]:
    """Seconds of a whole sweep; per combination of size, method and beta; against users and against items; and beside
    a literal implementation.

    Quick: 40 targets, beta 1 and 4, and without the largest sizes.
    """
    swept = _sweep(quick, seed, progress)  # before larger data raise the peak memory of this process
    rows: list[list[Any]] = []
    for name, size in SIZES.items():
        if quick and size[2] > 2_000_000:
            continue
        progress(f"makes ratings of the size of {name}")
        ratings = long_tail(*size, seed=seed)
        # All betas on the smallest set; elsewhere what grows with users and items is shown at beta 1.
        betas = (BETAS[::2] if quick else BETAS) if size == SIZES["MovieLens 100K"] else BETAS[:1]
        for method in METHODS:
            for beta in betas:
                progress(f"{name}: {method}, beta {beta:g}")
                targets = 40 if quick else TARGETS[name]
                wall, busy = time.perf_counter(), time.process_time()
                outcome = simulate(ratings, Recommender(method), Attack(beta=beta, channel="top_n", seed=seed), targets)
                wall, busy = time.perf_counter() - wall, time.process_time() - busy
                attacked = len(outcome.targets)
                per_list = 1e6 * busy / (attacked * outcome.num_fakes)
                memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
                costs = [round(wall, 2), round(busy, 2), round(per_list, 1), round(memory, 2)]
                rows.append([name, *size, method, f"{beta:g}", attacked, *costs])
    columns = ["size of", "users", "items", "ratings", "method", "beta", "targets", "seconds", "CPU seconds"]
    columns += ["CPU microseconds per list", "peak memory so far, GiB"]
    title = "The beta-kNN attack, k = 50, 8 known ratings, top-10 lists"
    whole = Table(title, columns, rows)
    return (swept, whole, _growth(quick, seed, progress), _literal(1 if quick else 3, seed, progress))


def plots(tables: Sequence[Table]) -> list[Plot]:
    """What a target costs against the number of fakes, of users and of items."""
    _, whole, growth, _ = tables
    sizes = [dict(zip(whole.columns, row, strict=True)) for row in whole.rows]
    first = sizes[0]["size of"]
    by_beta = [
        (row["method"], float(row["beta"]), 1000 * row["CPU seconds"] / row["targets"])
        for row in sizes
        if row["size of"] == first
    ]
    drawn = [_plot("beta", "beta: fakes per neighbor", by_beta)]
    for axis in GROWING:
        rows = [dict(zip(growth.columns, row, strict=True)) for row in growth.rows if row[0] == axis]
        points = [(row["method"], row[axis], row["CPU milliseconds per target"]) for row in rows]
        drawn.append(_plot(f"the number of {axis}", axis, points))
    return drawn


def _plot(against: str, x_label: str, points: Sequence[tuple[str, float, float]]) -> Plot:
    series = []
    for method in METHODS:
        own = [(x, y) for name, x, y in points if name == method]
        series.append(Series(method, [x for x, _ in own], [y for _, y in own]))
    title = f"Cost of the beta-kNN attack against {against}"
    return Plot(title, x_label, "CPU milliseconds per target", series, x_scale="log", y_scale="log")


def _growth(quick: bool, seed: int, progress: Callable[[str], None]) -> Table:
    """CPU time per target when users or items grow and nothing else does."""
    rows: list[list[Any]] = []
    for axis, sizes in GROWING.items():
        for size in sizes[:2] if quick else sizes:
            ratings = long_tail(*size, seed=seed)
            for method in METHODS:
                progress(f"{size[0]} users, {size[1]} items: {method}")
                scene = Scene(ratings, Recommender(method), Attack(channel="top_n", seed=seed), OURS, False)
                busy = time.process_time()
                scene.outcome()
                rows.append([axis, *size, method, OURS, round(1000 * (time.process_time() - busy) / OURS, 2)])
    columns = ["what grows", "users", "items", "ratings", "method", "targets", "CPU milliseconds per target"]
    return Table("The beta-kNN attack against users and items, beta 1", columns, rows)


def _sweep(quick: bool, seed: int, progress: Callable[[str], None]) -> Table:
    """Seconds of all methods and betas at once, the start of the processes included."""
    name, jobs, betas = "MovieLens 100K", 1 if quick else processors(), BETAS[::2] if quick else BETAS
    ratings = long_tail(*SIZES[name], seed=seed)
    attack = Attack(channel="top_n", seed=seed)
    targets = 40 if quick else TARGETS[name]
    start = time.perf_counter()
    rows = sweep(ratings, METHODS, betas, attack=attack, targets=targets, jobs=jobs, progress=progress)
    seconds = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF if jobs == 1 else resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    columns = ["size of", "methods", "betas", "targets", "lists", "processes", "seconds", "peak memory of each, GiB"]
    lists = sum(row["targets"] * row["fakes"] for row in rows)
    row = [name, len(METHODS), len(betas), rows[0]["targets"], lists, jobs, round(seconds, 1), round(memory, 2)]
    return Table("A sweep of the beta-kNN attack, from start to end", columns, [row])


def _literal(num_targets: int, seed: int, progress: Callable[[str], None]) -> Table:
    """Seconds per target, ours and word for word, without what either computes once for all targets."""
    size = SIZES["MovieLens 100K"]
    ratings, beta = long_tail(*size, seed=seed), BETAS[0]
    rows = []
    for method in METHODS:
        progress(f"word for word: {method}")
        recommender, attack = Recommender(method), Attack(beta=beta, channel="top_n", seed=seed)
        scene = Scene(ratings, recommender, attack, OURS, False)
        start = time.perf_counter()
        scene.outcome()
        ours = (time.perf_counter() - start) / OURS
        fakes = attack.num_fakes(recommender.num_neighbors)
        seconds = []
        for number in range(num_targets + 1):  # the first one compiles the mechanism
            start = time.perf_counter()
            matrix = with_fakes(ratings, scene.known[0, number], scene.told[0, number], fakes)
            lists = drawn_lists(matrix, recommender, ratings.num_users, fakes, seed)
            shares_shown(ratings, matrix, recommender, attack.list_length, lists, seed)
            seconds.append(time.perf_counter() - start)
        literal = float(np.mean(seconds[1:]))
        rows.append([method, fakes, num_targets, round(literal, 3), OURS, round(ours, 5), round(literal / ours)])
    columns = ["method", "fakes", "targets word for word", "seconds per target word for word", "targets of ours"]
    columns += ["seconds per target, ours", "ratio"]
    title = f"The same attack word for word (dense matrix, loops), size of MovieLens 100K, beta {beta:g}"
    return Table(title, columns, rows)
