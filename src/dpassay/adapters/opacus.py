"""Opacus: one step of DP-SGD becomes a sampler of the noisy gradient; the claim is its accountant's.

Clipping and noise are Opacus's own (`GradSampleModule`, `DPOptimizer`). An attacker who put a canary example into one
of two datasets looks at the gradient's projection on the canary's own gradient (Nasr et al. 2023, white-box audits).
"""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from dpassay.adapters import AdaptedMechanism
from dpassay.core.errors import InvalidInput
from dpassay.core.extras import library, one_line
from dpassay.core.privacy import PrivacyClaim


def from_opacus(
    model: Any,
    *,
    noise_multiplier: float,
    max_grad_norm: float,
    loss: Callable[[Any, Any], Any] | None = None,
    canary: Any = None,
    sample_rate: float = 1.0,
    delta: float | None = None,
    accountant: str = "rdp",
) -> AdaptedMechanism:
    """Wraps one DP-SGD step, as in Abadi et al. (2016), algorithm 1, without the division by the batch size.

    The datasets of the audit are pairs (inputs, targets) of arrays that differ in one example, added or removed.

    Args:
        model: a `torch` module that Opacus supports; copied, never trained.
        noise_multiplier: standard deviation of the noise over `max_grad_norm`.
        max_grad_norm: each example's gradient is clipped to this Euclidean norm.
        loss: loss(outputs, targets) summed over the batch; None is the squared error.
        canary: a direction, as long as all parameters together; the output is the projection on it. None: the gradient.
        sample_rate: each example takes part with this probability (Poisson sampling).
        delta: where the accountant states epsilon. None, only with sample_rate 1: Gaussian DP with mu =
            1/noise_multiplier.
        accountant: Opacus's name of it: "rdp" or "prv".

    Raises:
        InvalidInput: Opacus is missing, numbers out of range, or a model that Opacus refuses.
    """
    torch, optimizers = library("torch"), library("opacus.optimizers")
    samples, accountants = library("opacus.grad_sample"), library("opacus.accountants")
    for name, value in (("noise_multiplier", noise_multiplier), ("max_grad_norm", max_grad_norm)):
        if not value > 0:
            raise InvalidInput(f"{name} is {value}; it must be a number above 0")
    if not 0 < sample_rate <= 1:
        raise InvalidInput(f"sample_rate is {sample_rate}; it must be in (0, 1]")
    try:
        private = samples.GradSampleModule(copy.deepcopy(model), loss_reduction="sum")
    except Exception as error:  # the library raises several kinds
        raise InvalidInput(f"Opacus refuses the model: {one_line(error)}") from error
    optimizer = optimizers.DPOptimizer(
        torch.optim.SGD(private.parameters(), lr=0.0),
        noise_multiplier=noise_multiplier,
        max_grad_norm=max_grad_norm,
        expected_batch_size=None,
        loss_reduction="sum",
    )
    criterion = torch.nn.MSELoss(reduction="sum") if loss is None else loss
    direction = None if canary is None else np.asarray(canary, float).ravel()
    size = sum(parameter.numel() for parameter in private.parameters() if parameter.requires_grad)
    if direction is not None and (direction.size != size or not np.linalg.norm(direction) > 0):
        raise InvalidInput(f"the canary's direction needs {size} numbers, not all 0; got {direction.size}")

    def step(rng: np.random.Generator, dataset: Any) -> Any:
        inputs, targets = (_tensor(torch, part) for part in dataset)
        taken = torch.as_tensor(rng.random(len(inputs)) < sample_rate)
        inputs = inputs[taken].requires_grad_(inputs.is_floating_point())  # torch warns of hooks without a gradient
        optimizer.zero_grad()
        optimizer.generator = torch.Generator().manual_seed(int(rng.integers(2**63)))
        criterion(private(inputs), targets[taken]).backward()
        optimizer.pre_step()
        gradient = torch.cat([parameter.grad.ravel() for parameter in optimizer.params]).numpy()
        return gradient.copy() if direction is None else float(gradient @ direction / np.linalg.norm(direction))

    claim = _claim(accountants, noise_multiplier, sample_rate, delta, accountant)
    return AdaptedMechanism(step, claim=claim)


def _tensor(torch: Any, part: Any) -> Any:
    array = np.asarray(part)
    return torch.as_tensor(array, dtype=torch.get_default_dtype() if array.dtype.kind == "f" else None)


def _claim(accountants: Any, noise: float, sample_rate: float, delta: float | None, name: str) -> PrivacyClaim:
    if delta is None:
        if sample_rate < 1:
            raise InvalidInput("with a sample_rate below 1 give the delta at which Opacus's accountant states epsilon")
        return PrivacyClaim.gaussian(1 / noise)
    probability = PrivacyClaim(0.0, delta).delta
    try:
        accountant = accountants.create_accountant(name)
        accountant.step(noise_multiplier=noise, sample_rate=sample_rate)
        return PrivacyClaim(float(accountant.get_epsilon(probability)), probability)
    except Exception as error:
        raise InvalidInput(f"Opacus's accountant {name!r} refuses: {one_line(error)}") from error
