"""What the methods of the experiment `frontier` claim, and what is true: epsilon of all that one reader is shown.

The unit is one rating of another person, added, removed or changed, wherever it is; who takes part and both catalogues
are public. Three rules make the number:

* A prediction from neighbors spends on the choice of neighbors, which reads source ratings only (a reader has no other
  to compare by), and on the neighbors' target ratings. One rating enters one of the two, so the larger counts. Clear
  target ratings have no finite epsilon; then only `part`, for a rating of the source domain, is finite.
* A guarantee for users who join or leave costs twice for a rating: the person leaves, and joins with another profile.
  X-Map's replacement selection does not, its sensitivity being the range of the similarity (XM-T1-REP).
* X-Map spends on every replacement and every prediction that a reader is shown; the others show all at once.

Numbers come from the mechanisms' own exact functions, and are infinite unless the reviewed verdict says `holds`.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dpassay.core.registry import expected_outcomes
from dpassay.experiments.dpp.jitter import required_jitter, true_epsilon
from dpassay.experiments.frontier.noisy_totals import NoisyTotals
from dpassay.experiments.xmap.tables import CLAIMS
from dpassay.mechanisms import mechanism
from dpassay.mechanisms.sketch_profile import exact_epsilon, fixed_norm_epsilon

FLOOR = 40.0
"""c of the floor-norm cosine, as in the experiment on the repaired selections (PP-DP-REP)."""
SKETCH_ROWS = 400
"""r, where PriCDR reports its best accuracy."""
NO_DATA = ("constant", "reader's mean", "random list")
SELECTIONS = {"npns/repaired": "PP-EM-REP", "ppns/repaired": "PP-DP-REP"}
"""The claim that makes a repaired choice of neighbors private."""
SKETCHES = {
    "jlt/paper": (exact_epsilon, "CD-T52-REP"),
    "jlt/repaired": (exact_epsilon, "CD-T52-REP"),
    "sjlt/repaired": (fixed_norm_epsilon, "CD-SJLT-REP"),
}
"""The exact epsilon of a sketch from delta, rows and noise, and the claim that proves it."""


@dataclass(frozen=True)
class Facts:
    """What the privacy of a fold depends on; all of it is public, but for the reader's own `rated`.

    Attributes:
        people: n.
        source_items, target_items: of the catalogues.
        rated: source ratings of every reader, shape (readers,).
        asked: predictions for every reader, shape (readers,).
    """

    people: int
    source_items: int
    target_items: int
    rated: np.ndarray
    asked: np.ndarray

    @property
    def delta(self) -> float:
        """1/n^2, at which true epsilons of sketches are given; the paper's own is 1/n."""
        return self.people**-2

    @property
    def rows(self) -> int:
        """r, even, smaller where there are few items."""
        return min(SKETCH_ROWS, self.source_items // 2 * 2)


@dataclass(frozen=True)
class Privacy:
    """Epsilons of all that one reader is shown, nats, means over readers where they differ.

    Attributes:
        claimed: what the paper's statements add up to; None where it claims nothing, or the mechanism is ours.
        true: for one rating of another person, anywhere; math.inf where no finite one is proved.
        part: where `true` is infinite, the finite one for a source rating, if there is any.
        largest: `true` of the reader who is shown most.
        delta: at which `true` and `part` hold.
    """

    claimed: float | None
    true: float
    part: float | None = None
    largest: float | None = None
    delta: float = 0.0

    def record(self) -> dict[str, Any]:
        """JSON-able, "infinite" for infinity."""
        return {
            name: "infinite" if value is not None and math.isinf(value) else value
            for name, value in asdict(self).items()
        }


def privacy_of(setting: dict[str, Any], facts: Facts) -> Privacy:
    """The privacy of one setting of the experiment."""
    method, variant, epsilon = setting["method"], setting["variant"], setting["epsilon"]
    if method in NO_DATA:
        return Privacy(None, 0.0)
    if method in ("noisy item means", "noisy popularity"):
        return Privacy(None, NoisyTotals(epsilon).claim.epsilon)
    if method == "rating collection":
        return _collected(variant, epsilon)
    if method == "X-Map":
        asked = facts.asked if setting["panel"] == "ratings" else np.full(len(facts.rated), facts.target_items)
        return _cross_domain(variant, epsilon, facts.rated, asked)
    if method == "DPP":
        jitter = required_jitter("k-DPP", "counts", facts.target_items, epsilon)
        per_user = true_epsilon("k-DPP", "counts", facts.target_items, jitter)
        return Privacy(None, 2 * per_user if _holds("DP-KDPP-REP") else math.inf)
    if method in ("PPNS", "PriCDR"):
        choice, delta = _choice(variant, epsilon, facts)
        means = NoisyTotals(epsilon if variant.endswith("noisy means") else math.inf)
        true = max(choice, means.claim.epsilon)
        part = choice if math.isinf(true) and math.isfinite(choice) else None
        return Privacy(_claimed(variant, epsilon), true, part, delta=delta)
    return Privacy(None, math.inf)  # the references use ratings as they are


def sketch_of(name: str, epsilon: float, facts: Facts) -> Any:
    """PriCDR's sketch, printed (delta and the density of SJLT 1/n, as Algorithm 1 has them) or repaired (1/n^2)."""
    id, variant = name.split("/")
    delta = 1 / facts.people if variant == "paper" else facts.delta
    more = {"density": 1 / facts.people} if name == "sjlt/paper" else {}
    return mechanism(id, variant, epsilon=epsilon, delta=delta, num_rows=facts.rows, **more)


def _choice(variant: str, epsilon: float | None, facts: Facts) -> tuple[float, float]:
    """Epsilon and delta of choosing neighbors, for one source rating of another person."""
    name = variant.split(",")[0]
    if name in SELECTIONS and epsilon is not None:
        id = name.split("/")[0]
        built = mechanism(id, "repaired", epsilon=epsilon, norm_floor=FLOOR, protect="candidates")
        return (built.epsilon if _holds(SELECTIONS[name]) else math.inf), 0.0
    if name in SKETCHES and epsilon is not None:
        # The law of the printed sketch is that of the repaired one, unless there are more users than items (CD-T52).
        private = name != "jlt/paper" or facts.source_items >= facts.people
        profile, claim = SKETCHES[name]
        noise = sketch_of(name, epsilon, facts).noise
        return (profile(facts.delta, facts.rows, noise) if private and _holds(claim) else math.inf), facts.delta
    # kNN, nPNS, PNCF and PPNS are refuted without bound (PP-EM, PP-PNCF-NOT, PP-DP), the sparse sketch by CD-SJLT.
    return math.inf, 0.0


def _claimed(variant: str, epsilon: float | None) -> float | None:
    """What Lu and Shen, Zhu et al. or Chen et al. state of the release at this epsilon."""
    id, kind = variant.split("/")
    if kind != "paper" or epsilon is None:
        return None
    stated: float = mechanism(id, epsilon=epsilon).claim.epsilon
    return stated


def _collected(id: str, epsilon: float) -> Privacy:
    """The exact loss of one entry of the sampler that runs (RC-EXE-REP), which is the paper's claim up to rounding."""
    built = mechanism(id, "repaired", epsilon=epsilon)
    if id == "modified_laplace":
        loss = float(built.loss)
    else:
        keep, other = built.thresholds
        loss = math.log(keep / other)
    true = loss if _holds("RC-EXE-REP") and _holds("RC-T1" if id == "modified_laplace" else "RC-T2") else math.inf
    return Privacy(mechanism(id, epsilon=epsilon).claim.epsilon, true)


def _cross_domain(variant: str, epsilon: float, rated: np.ndarray, asked: np.ndarray) -> Privacy:
    """L replacements at epsilon each and T predictions at epsilon' = epsilon, for every reader."""
    true = all(_holds(CLAIMS[f"{step}/{variant}"]) for step in ("prs", "pnsa"))
    spent = rated * epsilon + 2 * asked * epsilon
    claimed = float(np.mean((rated + asked) * epsilon))
    if not true:
        return Privacy(claimed, math.inf)
    return Privacy(None, float(spent.mean()), largest=float(spent.max()))


def _holds(claim: str) -> bool:
    return expected_outcomes().get(claim, {}).get("") == "holds"
