"""A task that can be learned, and what is asked of every trained model."""

import dataclasses
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from dpassay.experiments.pricdr.ranking import evaluate
from dpassay.models import popularity
from dpassay.models.task import NEGATIVES, Task

GROUPS, USERS, ITEMS = 8, 6, 15
"""Groups, and of each its users and its items, in the target; the source has the same groups with fewer items."""


@pytest.fixture(scope="session")
def grouped() -> Task:
    """Users and items in groups, every item about equally popular.

    A user has all of the group's items but two, which are held out; a random guess is in the top 10 of 100.
    """
    generator = np.random.default_rng(5)
    group = np.repeat(np.arange(GROUPS), USERS)
    source = np.repeat(np.eye(GROUPS), 6, axis=1)[group]
    liked = np.repeat(np.eye(GROUPS), ITEMS, axis=1)[group].astype(bool)
    ranked = np.argsort(np.where(liked, 0.0, 2.0) + generator.random(liked.shape), axis=1)
    validation, test = ranked[:, 0], ranked[:, 1]
    negatives = ranked[:, ITEMS : ITEMS + NEGATIVES]
    target = liked.astype(np.float32)
    np.put_along_axis(target, ranked[:, :2], 0.0, axis=1)
    return Task(csr_array(source.astype(np.float32)), csr_array(target), validation, test, negatives, "groups")


@pytest.fixture
def learns(grouped: Task) -> Callable[..., None]:
    """Checks a model's module with some settings; all by the same shapes, so that it is compiled once."""
    return lambda module, settings, uses_source: _learns(module, settings, uses_source, grouped)


def _learns(module: ModuleType, settings: Any, uses_source: bool, task: Task) -> None:
    """It beats popularity, repeats itself under one seed only, keeps what it yielded, and never reads what is held out.

    All by the same shapes and settings, so that the model is compiled once.
    """
    everything = np.tile(np.arange(task.num_target_items), (task.num_users, 1))
    epochs = list(module.train(task, settings, seed=1))
    assert len(epochs) == settings.epochs
    first, last = (epochs[index](everything) for index in (0, -1))
    assert last.shape == everything.shape
    assert np.abs(first - last).max() > 1e-3

    assert evaluate(popularity.train(task), task)["clean_HR10"] <= 0.1
    assert evaluate(iter(epochs), task)["clean_HR10"] > 0.5

    renamed = dataclasses.replace(task, validation=task.test, test=task.validation, negatives=task.negatives[:, ::-1])
    again = next(module.train(renamed, settings, seed=1))(everything)
    np.testing.assert_array_equal(again, first)
    other = next(module.train(task, settings, seed=2))(everything)
    assert np.abs(other - first).max() > 1e-6

    reversed_source = dataclasses.replace(task, source=task.source[::-1])
    moved = next(module.train(reversed_source, settings, seed=1))(everything)
    assert np.array_equal(moved, first) != uses_source
