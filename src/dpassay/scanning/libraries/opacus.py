"""Opacus: what its accountants say of steps of DP-SGD, one example added or removed."""

from collections.abc import Iterator

from dpassay.core.extras import library
from dpassay.scanning.candidates import DECLARED, Accounted, Candidate, NotJudged

_DELTA = 1e-5
_ACCOUNTANTS = ("rdp", "prv")  # "gdp" is an approximation by a limit theorem, and says so
_STEPS = ((1.0, 0.01, 1000), (2.0, 1.0, 10), (0.8, 0.1, 100))
"""Noise multiplier, sample rate, number of steps."""


def candidates() -> Iterator[Candidate | NotJudged]:
    """An accountant for each training."""
    library("opacus.accountants")
    for accountant in _ACCOUNTANTS:
        for noise, rate, steps in _STEPS:
            yield _candidate(accountant, noise, rate, steps)
    yield NotJudged(
        "opacus.accountants.gdp", "", "it states an approximation by a limit theorem, no bound that could be wrong"
    )
    yield NotJudged(
        "opacus.optimizers.DPOptimizer", "", "it needs a model and its data: audit it with dpassay.adapters.opacus"
    )


def _candidate(accountant: str, noise: float, rate: float, steps: int) -> Candidate:
    step = {"kind": "gaussian", "noise_multiplier": noise}
    sampled = step if rate == 1 else {"kind": "poisson_sampled", "sampling_probability": rate, "event": step}
    event = {"kind": "self_composed", "count": steps, "event": sampled}

    def asked() -> Accounted:
        made = library("opacus.accountants").create_accountant(accountant)
        for _ in range(steps):
            made.step(noise_multiplier=noise, sample_rate=rate)
        return Accounted(event, float(made.get_epsilon(_DELTA)), _DELTA, "add_or_remove_one")

    code = f"""from opacus.accountants import create_accountant
import dpassay as dp
accountant = create_accountant({accountant!r})
for _ in range({steps}):
    accountant.step(noise_multiplier={noise}, sample_rate={rate})
claim = dp.PrivacyClaim(accountant.get_epsilon({_DELTA}), {_DELTA})
print(dp.check_accounting({event!r}, claim=claim, relation="add_or_remove_one"))"""
    name = f"opacus.accountants.{accountant}(noise_multiplier={noise}, sample_rate={rate}, steps={steps})"
    return Candidate("accountant", name, "", asked, source=DECLARED, code=code)
