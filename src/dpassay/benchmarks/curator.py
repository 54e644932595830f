"""Leaks hidden in rare events: which of them an audit finds, at which cost, and which no audit can.

After the curator attack on black-box auditors: an otherwise private mechanism that gives its dataset away with a small
probability (arXiv 2411.16516). Here a Laplace mechanism of epsilon 1
misbehaves with probability p in two ways: it says something that it never says otherwise ("a mark"), or it moves the
mass of an interval in the middle of its range, where nothing looks strange ("a dent").
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from scipy import special, stats

from dpassay.benchmarks.noise import Batched, laplace, words
from dpassay.core.privacy import PrivacyClaim
from dpassay.core.progress import Step
from dpassay.core.records import Table

if TYPE_CHECKING:
    from jax import Array

CLAIM = 1.0
MARK = 1000.0  # far beyond all noise
LOSS = 5.0  # of a dent, nats
FAILURE_PROBABILITY = 0.05
COLUMNS = (
    "leak", "its probability", "samples", "caught", "of", "seconds", "rarest event found with probability 0.9",
    "epsilon found", "least samples for any audit",
)  # fmt: skip


@dataclass(frozen=True)
class Curator(Batched):
    """A Laplace mechanism of epsilon 1 that leaks whether the dataset is 0 or 1 with a small probability.

    Attributes:
        probability: of the leak under dataset 1.
        kind: "mark": under dataset 1 the output is `MARK`, never under dataset 0. "dent": outputs near 0.5, a set of
            probability `probability` under both, are replaced under dataset 0 by 0.5 + noise except for a share e^-5.
    """

    probability: float
    kind: Literal["mark", "dent"]

    def sample_batch(self, key: Any, dataset: Any, num_samples: int) -> "Array":
        """Shape (num_samples,), float32."""
        key_noise, key_leak = jax.random.split(key)
        value = jnp.asarray(dataset, jnp.float32)
        noise = laplace(key_noise, (2, num_samples))
        output, uniform = value + noise[0], words(key_leak, (num_samples,))
        if self.kind == "mark":
            leaks = (uniform < np.uint32(round(self.probability * 2**32))) & (value > 0)
            return jnp.where(leaks, MARK, output)
        hidden = jnp.abs(output - 0.5) < self.width
        kept = uniform < np.uint32(round(math.exp(-LOSS) * 2**32))
        again = 0.5 + jnp.where(noise[1] < 0, -1, 1) * (self.width + jnp.abs(noise[1]))
        return jnp.where(hidden & ~kept & (value < 0.5), again, output)

    @property
    def width(self) -> float:
        """Half the interval around 0.5 that has the probability under a Laplace law centered at 0 or 1."""
        return float(np.arcsinh(self.probability * math.exp(0.5)))


def caught_from(probability: float, loss: float, failure_probability: float = FAILURE_PROBABILITY) -> int:
    """Samples of each dataset from which an audit that knows the event refutes the claim of 1 with probability 0.9.

    The number of hits is Poisson; the test compares hits with the conditional law at the boundary of the claim.
    """
    share = math.exp(CLAIM) / (1 + math.exp(CLAIM))
    for power in np.arange(2, 10, 0.05):
        number = 10**power
        hits, others = number * probability, number * probability * math.exp(-loss)
        largest = int(hits + others + 10 * math.sqrt(hits + others) + 20)
        total = np.arange(largest + 1)
        critical = stats.binom.isf(failure_probability, total, share)  # refuted when more than so many hits
        power_given = special.betainc(critical + 1, np.maximum(total - critical, 1e-9), hits / (hits + others))
        power_given = np.where(critical >= total, 0.0, np.where(others == 0, 1.0, power_given))
        if float((stats.poisson.pmf(total, hits + others) * power_given).sum()) >= 0.9:
            return math.ceil(number)
    return 10**10


def tables(quick: bool, seed: int, progress: Callable[[str], None]) -> list[Table]:
    """One table: every kind and probability at every number of samples."""
    probabilities = (1e-2, 1e-4) if quick else (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
    sizes, runs = ((100_000,), 2) if quick else ((100_000, 1_000_000, 23_000_000), 5)
    rows: list[list[Any]] = []
    planned = len(probabilities) * len(sizes) * 2
    for kind, loss in (("mark", math.inf), ("dent", LOSS)):
        for probability in probabilities:
            for size in sizes:
                progress(Step(f"a {kind} of probability {probability:g}, {size:,} samples", len(rows) / planned))
                mechanism = Curator(probability, kind)  # type: ignore[arg-type]
                found = [_audit(mechanism, size, seed + run) for run in range(runs)]
                rarest = [entry["rarest"] for entry in found if entry["rarest"] is not None]
                caught = [sum(entry["refuted"] for entry in found), runs]
                seconds, lower = (float(np.mean([entry[name] for entry in found])) for name in ("seconds", "lower"))
                seen = [round(seconds, 2), f"{float(np.mean(rarest)):.2g}" if rarest else "", round(lower, 3)]
                rows.append([f"a {kind}", f"{probability:g}", size, *caught, *seen, caught_from(probability, loss)])
    title = (
        f"Leaks in rare events; claim {CLAIM:g}, failure probability {FAILURE_PROBABILITY:g}, samples of each dataset"
    )
    return [Table(title, list(COLUMNS), rows)]


def _audit(mechanism: Curator, size: int, seed: int) -> dict[str, Any]:
    from dpassay.auditors.audit import run_audit

    start = time.perf_counter()
    audit = run_audit(
        mechanism,
        1.0,
        0.0,
        claim=PrivacyClaim(CLAIM),
        failure_probability=FAILURE_PROBABILITY,
        num_samples=size,
        seed=seed,
        name=f"{mechanism.kind} {mechanism.probability:g}",
    )
    return {
        "refuted": audit.verdict.outcome == "refuted",
        "seconds": time.perf_counter() - start,
        "rarest": audit.detectable.get("rarest_event"),
        "lower": audit.epsilon_lower or 0.0,
    }
