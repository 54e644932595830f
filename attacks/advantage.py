"""Advantage over guessing, TPR - FPR between neighboring datasets: what privacy permits, and the most of any test."""

import math

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from dpassay.core.errors import InvalidInput


def permitted_advantage(epsilon: float, delta: float = 0.0) -> float:
    """Largest TPR - FPR of any test between neighboring datasets: (e^eps - 1 + 2 delta) / (e^eps + 1).

    Kairouz, Oh and Viswanath, "The Composition Theorem for Differential Privacy" (2015), region (4).

    Raises:
        InvalidInput: a negative epsilon, or a delta that is no probability.
    """
    if not epsilon >= 0:
        raise InvalidInput(f"epsilon is {epsilon}; it must be 0 or more")
    if not 0 <= delta <= 1:
        raise InvalidInput(f"delta is {delta}; it must be a probability")
    if math.isinf(epsilon):
        return 1.0
    return math.tanh(epsilon / 2) + 2 * delta / (math.exp(min(epsilon, 700.0)) + 1)


def composed_advantage(losses: np.ndarray, chances: np.ndarray, step: float, rounds: int) -> float:
    """Largest TPR - FPR of any test between two laws after independent rounds: their total variation.

    E_P[max(0, 1 - e^-L)] with L the sum of the rounds' losses, whose law is a power of one round's Fourier transform. A
    loss between two points of the lattice is split among them so that P and Q keep their masses. Joining the two again
    gives the pair back, so the result is an upper bound (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi, "Connect the
    Dots: Tighter Discrete Approximations of Privacy Loss Distributions", 2022); it is exact for losses on the lattice.

    Args:
        losses: log P/Q of the outcomes, nats, shape (outcomes,).
        chances: under P, shape (outcomes,).
        step: of the lattice, nats.
        rounds: how many.
    """
    places = np.floor(losses / step).astype(int)
    lowest = int(places.min())
    upper = np.expm1(-(losses - step * places)) / math.expm1(-step)
    law = np.bincount(places - lowest, chances * (1 - upper), places.max() - lowest + 2)
    law += np.bincount(places - lowest + 1, chances * upper, len(law))
    length = rounds * (len(law) - 1) + 1
    padded = next_fast_len(length, real=True)
    total = np.maximum(irfft(rfft(law, padded) ** rounds, padded)[:length], 0.0)
    summed = step * (rounds * lowest + np.arange(length))
    return float(min(1.0, (total * -np.expm1(-np.maximum(summed, 0.0))).sum()))


def right(advantage: float) -> str:
    """The share of right guesses when either case is as likely, in words."""
    return f"{(1 + advantage) / 2:.1%}"
