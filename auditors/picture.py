"""A picture of what was found: the best event of one number, or of one output, where the tested one is neither.

A learned order of outputs makes the strongest evidence and says nothing to a reader. The picture is chosen on one half
of samples that the search kept anyway and counted in the other, by no test: it proves nothing, and says so.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpassay.auditors.events import Tested, likelier_first, score, select
from dpassay.auditors.fixed_sample import Counts
from dpassay.auditors.learners import Binned, tally
from dpassay.auditors.scorers import Atoms, Column, Scorer
from dpassay.auditors.wording import joined

if TYPE_CHECKING:
    from dpassay.auditors.outputs import Encoder

NUMBERS = 16  # columns that are tried
OUTCOMES = 16  # outputs that are tried
VALUES = 1 << 21  # of features that are looked at
_OBSCURE = re.compile(r", score |\(rank\)| is .* - | - .* is |\b(sum of all|largest|smallest) number")
APART = 2.0  # standard deviations by which the counts of a picture differ at least


def picture(tested: Tested, rows: Sequence[Any], encoder: "Encoder") -> Tested | None:
    """The picture of a tested event; None when it needs none, or nothing so simple shows anything.

    Args:
        tested: the event.
        rows: feature vectors of both datasets, each of shape (samples, columns).
        encoder: that made them.
    """
    if is_plain(tested.event.description):
        return None
    most = max(VALUES // len(encoder.names), 64)
    halves = [[np.asarray(side)[start : 2 * most : 2] for side in rows] for start in (0, 1)]
    if not all(len(side) for half in halves for side in half):
        return None
    scorers = _plain_scorers(halves[0][0], halves[0][1], encoder)
    (event,) = select(
        scorers,
        *(score(side, scorers) for side in halves[0]),
        points=[tested.event.point],
        num_test=len(halves[0][0]),
        failure_probability=0.05,
        names=encoder.names,
    )
    hits = [np.array([np.count_nonzero(np.asarray(event.contains(side)))]) for side in halves[1]]
    (likelier,), (other,) = likelier_first((event,), hits)
    sizes = [len(halves[1][event.direction]), len(halves[1][1 - event.direction])]
    share = (likelier + other) / sum(sizes)
    spread = np.sqrt(share * (1 - share) * (1 / sizes[0] + 1 / sizes[1]))
    if not likelier / sizes[0] - other / sizes[1] > APART * spread:
        return None
    return Tested(tested.pair, event, Counts(int(likelier), sizes[0], int(other), sizes[1]), 0.0)


def is_plain(description: str) -> bool:
    """Whether an event's words are about one number, or name one output or two."""
    return description.count(" or ") <= 1 and not _OBSCURE.search(description)


def _plain_scorers(one: np.ndarray, two: np.ndarray, encoder: "Encoder") -> list[Scorer]:
    names, width = encoder.names, len(encoder.names)
    clear = _clear(np.concatenate([one, two]), names)
    differences = Binned(one, two, encoder.discrete, derived=False).differences
    shown = [index for index in np.argsort(-differences) if clear[index]][:NUMBERS]
    scorers: list[Scorer] = [Column(np.int32(index)) for index in shown]
    if width > 1 and all(clear) and joined(names) != joined(()):
        scorers += [Column(np.int32(index), True) for index in range(2 * width - 1, 2 * width + 2)]
    if all(encoder.discrete):
        outcomes, (counts1, counts2) = tally(one, two)
        apart = np.abs(counts1 / len(one) - counts2 / len(two)) / np.sqrt(counts1 + counts2)
        scorers += [Atoms.build(outcomes[[place]], np.ones(1)) for place in np.argsort(-apart)[:OUTCOMES]]
    return scorers or [Column(np.int32(0))]


def _clear(rows: np.ndarray, names: Sequence[str]) -> list[bool]:
    """Whether a column is what its name says in every row: where there is no number, some other one fills the place."""
    varying = [name for name, column in zip(names, rows.T, strict=True) if np.ptp(column)]
    ragged = tuple(f"{name[4:-1]}[" for name in varying if name.startswith("len("))
    return [
        not name.startswith(ragged)
        and "(rank)" not in name
        and not any(mark.startswith(f"{name} is ") for mark in varying)
        for name in names
    ]
