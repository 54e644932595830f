"""Who is judged in which round of a scan, for how long, and with which share of the failure probability.

All are judged in round 0: what needs no samples once, mechanisms for as long as half of their time allows. Each later
round gives half of the time left to a quarter of the mechanisms, those that may turn out to break their claim by most:
by what the samples promise, and by how few they are.

Round r may accuse any that keeps its claim with probability alpha / ((r + 1) (r + 2)), in equal shares of those whose
turn it is. These are fixed before the first sample of the round, which has random numbers of its own: given all that
earlier rounds found, the union bound holds in the round. The parts of all rounds sum to alpha.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dpassay.scanning.candidates import Kind

LEAST, MOST = 1.5, 10.0  # seconds of a turn in round 0
ROUNDS = 5
FEWER = 4  # times, from one round to the next
EXACT = ("formula", "accountant")  # judged in a moment


@dataclass(frozen=True)
class Turn:
    """Time and chance of one candidate in one round.

    Attributes:
        number: of the round, from 0 on.
        share: of the failure probability.
        seconds: for all of it.
        seed: of everything random; another one in each round.
    """

    number: int
    share: float
    seconds: float
    seed: int


class Schedule:
    """Hands out the turns of a scan, round by round."""

    def __init__(self, kinds: Sequence[Kind], failure_probability: float, seed: int, workers: int) -> None:
        """Prepares round 0 of candidates of these kinds, which are called by their place here."""
        self.kinds, self.alpha, self.seed, self.workers = kinds, failure_probability, seed, workers
        self.shares: list[float] = []  # of each mechanism, in each round so far
        self._most = sum(kind == "mechanism" for kind in kinds)

    def turns(self, left: float, hopes: Mapping[int, float | None]) -> dict[int, Turn]:
        """The next round; empty where there is none.

        Args:
            left: seconds by the clock.
            hopes: of those judged so far, by how much the claim may turn out to be broken; None of those about which
                more samples tell nothing.
        """
        number = len(self.shares)
        if number == 0:
            return self._all(left * self.workers)
        waiting = {place: hope for place, hope in hopes.items() if hope is not None}
        self._most = min(math.ceil(self._most / FEWER), len(waiting))
        if not self._most or number == ROUNDS or left < LEAST:
            return {}
        chosen = sorted(waiting, key=lambda place: (-waiting[place], place))[: self._most]
        last = len(chosen) <= self.workers
        seconds = left if last else max(LEAST, left * self.workers / 2 / len(chosen))
        return self._given(chosen, {"mechanism": min(seconds, MOST * 2**number)})

    def _all(self, time: float) -> dict[int, Turn]:
        """Maps, which have one turn, have half of the time; mechanisms half of what is left to them."""
        maps, mechanisms = (sum(kind == each for kind in self.kinds) for each in ("map", "mechanism"))
        parts = {"map": time / (2 if mechanisms else 1) / max(1, maps)}
        parts["mechanism"] = time / (4 if maps else 2) / max(1, mechanisms)
        seconds = {kind: min(MOST, max(LEAST, part)) for kind, part in parts.items()}
        return self._given(range(len(self.kinds)), {**dict.fromkeys(EXACT, MOST), **seconds})

    def _given(self, chosen: Sequence[int], seconds: Mapping[str, float]) -> dict[int, Turn]:
        number = len(self.shares)
        mechanisms = sum(self.kinds[place] == "mechanism" for place in chosen)
        share = self.alpha / ((number + 1) * (number + 2)) / max(1, mechanisms)
        self.shares.append(share)
        state = np.random.SeedSequence([self.seed, number]).generate_state(1)
        seed = int(state[0]) if number else self.seed
        return {place: Turn(number, share, seconds[self.kinds[place]], seed) for place in chosen}
