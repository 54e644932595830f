"""Accountants of DP-SGD: what each library's own say of steps on Poisson samples, one example added or removed.

A noise multiplier is the noise's standard deviation over the bound of one example's gradient, in all of them.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from dpassay.core.extras import library
from dpassay.scanning.candidates import DECLARED, Accounted, Candidate, NotJudged

_DELTA = 1e-5
_STEPS = ((2.0, 0.05, 100), (2.0, 1.0, 10), (1.0, 0.01, 100))
"""Noise multiplier, sample rate, number of steps: few, so that certified bounds get near the best accountants soon."""

# Code that leaves `epsilon`. The numbers stand before it, under these names.
_OPACUS = """from opacus.accountants import create_accountant
accountant = create_accountant({!r})
for _ in range(steps):
    accountant.step(noise_multiplier=noise, sample_rate=rate)
epsilon = accountant.get_epsilon(delta)"""
_JAX_PRIVACY = """from jax_privacy import accounting
accountant = accounting.DpsgdTrainingAccountant(accounting.{}())
examples = 10_000
training = accounting.DpParams(
    noise_multipliers=noise, num_samples=examples, delta=delta, batch_size=round(rate * examples)
)
epsilon = accountant.compute_epsilon(steps, training)"""
_PRV = """from prv_accountant.dpsgd import DPSGDAccountant
accountant = DPSGDAccountant(noise, rate, max_steps=steps, eps_error=0.1, delta_error=delta / 1000)
lowest, estimate, epsilon = accountant.compute_epsilon(delta, steps)"""
_RISKCAL = """from riskcal.accountants.ctd import CTDAccountant
accountant = CTDAccountant()
for _ in range(steps):
    accountant.step(noise_multiplier=noise, sample_rate=rate)
epsilon = accountant.get_epsilon(delta=delta)"""

_ASKED: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        # Its "gdp" is an approximation by a limit theorem, and says so.
        "opacus": {f"opacus.accountants.{each}": _OPACUS.format(each) for each in ("rdp", "prv")},
        "jax_privacy": {
            f"jax_privacy.accounting.DpsgdTrainingAccountant({each}())": _JAX_PRIVACY.format(each)
            for each in ("PldAccountantConfig", "RdpAccountantConfig")
        },
        "prv_accountant": {"prv_accountant.dpsgd.DPSGDAccountant": _PRV},
        "riskcal": {"riskcal.accountants.ctd.CTDAccountant": _RISKCAL},
    }
)
"""Library -> name of an accountant -> how it is asked."""
_LEFT_OUT: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "opacus": {
            "opacus.accountants.gdp": "it states an approximation by a limit theorem, no bound that could be wrong",
            "opacus.optimizers.DPOptimizer": "it needs a model and its data: audit it with dpassay.adapters.opacus",
        }
    }
)


def candidates(name: str) -> Iterator[Candidate | NotJudged]:
    """An accountant for each training."""
    library(name)
    for accountant, asking in _ASKED[name].items():
        for noise, rate, steps in _STEPS:
            yield _candidate(accountant, asking, noise, rate, steps)
    for left, reason in _LEFT_OUT.get(name, {}).items():
        yield NotJudged(left, "", reason)


def _candidate(accountant: str, asking: str, noise: float, rate: float, steps: int) -> Candidate:
    step = {"kind": "gaussian", "noise_multiplier": noise}
    sampled = step if rate == 1 else {"kind": "poisson_sampled", "sampling_probability": rate, "event": step}
    event = {"kind": "self_composed", "count": steps, "event": sampled}
    code = f"noise, rate, steps, delta = {noise}, {rate}, {steps}, {_DELTA}\n{asking}"

    def asked() -> Accounted:
        made: dict[str, float] = {}
        exec(code, made)
        return Accounted(event, float(made["epsilon"]), _DELTA, "add_or_remove_one")

    shown = f"import dpassay as dp\n{code}\nclaim = dp.PrivacyClaim(float(epsilon), delta)\n"
    shown += f'print(dp.check_accounting({event!r}, claim=claim, relation="add_or_remove_one"))'
    name = f"{accountant}, noise_multiplier={noise}, sample_rate={rate}, steps={steps}"
    return Candidate("accountant", name, "", asked, source=DECLARED, code=shown)
