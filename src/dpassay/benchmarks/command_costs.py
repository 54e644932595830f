"""What every long command costs, from its start to its end, against what it grows with.

Each runs as a user starts it, in a process and a folder of its own, with data that are made here.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import dpassay
from dpassay.benchmarks.attack_costs import long_tail
from dpassay.core.errors import InvalidInput
from dpassay.core.records import Plot, Series, Table
from dpassay.core.registry import all_claims

TITLE = "Long commands against what they grow with"
EXPERIMENTS_TITLE = "Experiments, with --quick, against the number of ratings"
_MEASURED = ("seconds", "CPU seconds", "peak memory, MiB")
_RANKED = 250  # items of a domain at least: PriCDR ranks each among 99 that its user has not rated

# A process begins with the peak memory of the one that it is forked from: this one is small.
_LAUNCHER = """
import json, os, sys, time
begin = time.monotonic()
process = os.spawnv(os.P_NOWAIT, sys.argv[2], sys.argv[2:])
_, status, used = os.wait4(process, 0)
measured = [time.monotonic() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss / 2**10]  # KiB on Linux
with open(sys.argv[1], "w") as file:
    json.dump([os.waitstatus_to_exitcode(status), *measured], file)
"""
_MECHANISMS = """
import jax
import numpy as np


class Count:
    def sample(self, key, dataset):
        return dataset.sum() + jax.random.laplace(key)


def count(rng, dataset):
    return float(np.sum(dataset)) + rng.laplace()
"""
_PROGRAM = """
def sums(rng, values, epsilon):
    answers = []
{steps}    return answers
"""
_STEP = """    total{at} = 0
    for value in values:
        total{at} += min(max(value, 0), 1)
    answers.append(total{at} + rng.laplace(0, {steps} / epsilon))
"""


@dataclass(frozen=True)
class Growth:
    """A command of several sizes.

    Attributes:
        command: its name, and what it is about.
        grows: what a size counts.
        sizes: from small to large.
        prepared: writes what it needs into a folder, for a size, and gives the command's arguments.
    """

    command: str
    grows: str
    sizes: tuple[int, ...]
    prepared: Callable[[Path, int], list[str]]


def tables(
    quick: bool = False, progress: Callable[[str], None] = lambda _: None, *, experiments: bool = False
) -> list[Table]:
    """One row for each command, or experiment, and size, with the command's own seed.

    Quick: the two smallest sizes of each.

    Raises:
        InvalidInput: a command ends without its work done.
    """
    rows = []
    for growth in EXPERIMENTS if experiments else GROWTHS:
        for size in growth.sizes[: 2 if quick else None]:
            progress(f"{growth.command}: {size} {growth.grows}")
            with tempfile.TemporaryDirectory(prefix="dpassay-bench-") as name:
                measured = measure(growth.prepared(Path(name), size), name)
            rows.append([growth.command, growth.grows, size, *(measured[each] for each in _MEASURED)])
    return [Table(EXPERIMENTS_TITLE if experiments else TITLE, ["command", "what grows", "size", *_MEASURED], rows)]


def plots(table: Table) -> list[Plot]:
    """CPU seconds and memory of each, attacks and experiments apart, against the size as a multiple of the smallest."""
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    drawn = []
    for column in _MEASURED[1:]:
        several: dict[str, list[Series]] = {}
        for command, grows in dict.fromkeys((row["command"], row["what grows"]) for row in rows):
            own = [row for row in rows if (row["command"], row["what grows"]) == (command, grows)]
            xs = [row["size"] / own[0]["size"] for row in own]
            of = next((f"{kind}s" for kind in ("attack", "experiment") if command.startswith(kind)), "long commands")
            several.setdefault(of, []).append(Series(f"{command}: {grows}", xs, [row[column] for row in own]))
        label = "size, as a multiple of the smallest"
        drawn += [
            Plot(f"{column} of {of}", label, column, series, x_scale="log", y_scale="log")
            for of, series in several.items()
        ]
    return drawn


def measure(arguments: Sequence[str], folder: str) -> Mapping[str, float]:
    """Seconds by the clock and of the processor, and MiB of the largest process, of one command.

    Raises:
        InvalidInput: it ends without a verdict, with what it said last.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(dpassay.__file__).parents[1]), folder])}
    said, told = Path(folder) / "said", Path(folder) / "told.json"
    with said.open("w") as file:
        command = [sys.executable, "-m", "dpassay", *arguments]
        launched = [sys.executable, "-S", "-c", _LAUNCHER, str(told), *command]
        subprocess.run(launched, env=environment, stdout=file, stderr=subprocess.STDOUT, check=True)
    code, seconds, processor, memory = json.loads(told.read_text())
    if code not in (0, 1):
        last = (said.read_text().strip().splitlines() or ["nothing was said"])[-1]
        raise InvalidInput(f"dpassay {' '.join(arguments)} ended with exit code {code}: {last}")
    found = (seconds, processor, memory)
    return dict(zip(_MEASURED, (float(f"{each:.3g}") for each in found), strict=True))


def _audit(name: str, length: int | None, samples: int | None) -> Callable[[Path, int], list[str]]:
    """An audit of a mechanism at its claim; what is None is the size."""

    def prepared(folder: Path, size: int) -> list[str]:
        (folder / "costs_mechanisms.py").write_text(_MECHANISMS)
        for number in (1, 2):
            values = [float(number - 1), *[0.5] * ((length or size) - 1)]
            (folder / f"{number}.json").write_text(json.dumps(values))
        datasets = [f"--dataset{number}={folder / f'{number}.json'}" for number in (1, 2)]
        return [
            *("audit", f"costs_mechanisms:{name}", *datasets),
            *("--epsilon", "1", "--num-samples", str(samples or size)),
        ]

    return prepared


def _search(folder: Path, size: int) -> list[str]:
    return [
        *("search", "ppns", "--relation", "replace_one:rating", "--epsilon", "20", "--users", str(size)),
        *("--items", "2", "--time-limit", "20"),
    ]


def _prove(folder: Path, size: int) -> list[str]:
    steps = "".join(_STEP.format(at=at, steps=size) for at in range(size))
    (folder / "costs_program.py").write_text(_PROGRAM.format(steps=steps))
    return ["prove", "costs_program:sums", "--relation", "replace_one:entry", "--time-limit", "300"]


def _scan(folder: Path, size: int) -> list[str]:
    functions = "".join(
        f"def noisy_sum_{at}(values, epsilon, rng):\n    return sum(values) + rng.laplace(0, {at + 2} / epsilon)\n\n\n"
        for at in range(size)
    )
    (folder / "costs_package.py").write_text(functions)
    return ["scan", str(folder / "costs_package.py")]


def _replay(folder: Path, size: int) -> list[str]:
    from dpassay.replay import seal_own

    event = {"kind": "gaussian", "noise_multiplier": "2"}
    for number in range(size):  # each about another claim: what is equal is checked once
        claim = {"epsilon": str(5 + number), "delta": "1e-5"}
        certificate = seal_own("accounting", {"event": event, "relation": "add_or_remove_one", "claim": claim})
        certificate.write(folder / f"{number}.json")
    return ["replay", *(str(folder / f"{number}.json") for number in range(size))]


def _verify(folder: Path, size: int) -> list[str]:
    names = [claim.id for claim in all_claims()]
    every = len(names) / size
    return ["verify", *(f"--claim={names[int(at * every)]}" for at in range(size))]


def _attack(name: str, *options: str) -> Callable[[Path, int], list[str]]:
    """An attack on synthetic ratings; the size is their number."""

    def prepared(folder: Path, size: int) -> list[str]:
        return ["attack", name, "--data", _ratings(folder / "ratings.csv", size, size // 100), *options]

    return prepared


def _experiment(name: str, domains: int) -> Callable[[Path, int], list[str]]:
    """A quick experiment on synthetic ratings of one domain, or two that share their users."""

    def prepared(folder: Path, size: int) -> list[str]:
        users, each = size // 100, size // domains
        files = [
            _ratings(folder / f"{number}.csv", each, users, 20 if domains == 1 else _RANKED, number)
            for number in range(domains)
        ]
        return ["experiment", name, "--quick", *(f"--data={file}" for file in files)]

    return prepared


def _ratings(path: Path, size: int, users: int, least_items: int = 20, seed: int = 0) -> str:
    """Writes so many ratings."""
    ratings = long_tail(users, max(size // 60, least_items), size, seed=seed)
    lines = ["user,item,rating", *map("{},{},{}".format, ratings.users, ratings.items, ratings.values)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


GROWTHS = (
    Growth("audit, a JAX mechanism", "samples", (10**5, 10**6, 10**7, 10**8), _audit("Count", 10, None)),
    Growth("audit, a Python function", "samples", (10**4, 10**5, 10**6), _audit("count", 10, None)),
    Growth("audit, a JAX mechanism", "entries of a dataset", (10, 10**3, 10**5), _audit("Count", None, 10**5)),
    Growth("search, exact, ppns", "users", (3, 4, 5), _search),
    Growth("prove, sums in one program", "sums", (1, 2, 4), _prove),
    Growth("scan, a module", "functions", (1, 4, 16, 64), _scan),
    Growth("replay", "certificates", (1, 10, 100), _replay),
    Growth("verify", "claims", (3, 24, 192), _verify),
    Growth("attack beta-knn", "ratings", (10**4, 10**5, 10**6), _attack("beta-knn", "--targets", "40")),
    Growth("attack sketch", "ratings", (10**4, 10**5, 10**6), _attack("sketch")),
    Growth("attack reconstruction", "ratings", (10**4, 3 * 10**4, 10**5), _attack("reconstruction")),
    Growth("attack presence", "ratings", (10**4, 10**5, 10**6), _attack("presence")),
    Growth("attack alterego", "ratings", (10**4, 3 * 10**4, 10**5), _attack("alterego")),
)
EXPERIMENTS = tuple(
    Growth(f"experiment {name}", "ratings", (10**4, 3 * 10**4, 10**5), _experiment(name, domains))
    for name, domains in (
        ("ppns", 1),
        ("beta-knn", 1),
        ("dpp", 1),
        ("attacks", 1),
        ("rating-collection", 1),
        ("xmap", 2),
        ("pricdr", 2),
        ("pricdr-sweeps", 2),
        ("frontier", 2),
    )
)
