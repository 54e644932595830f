"""Autoencoders that see the source domain in plain text learn what popularity cannot tell, and nothing held out."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from dpassay.models import darec, etl

SHARED: dict[str, Any] = {"factors": 16, "learning_rate": 0.02, "weight_decay": 0.0, "batch_size": 16}
MODELS = [
    (darec, darec.Settings(**SHARED, features=16, pretraining=30, epochs=40)),
    (etl, etl.Settings(**SHARED, dropout=0.2, epochs=40)),
]


@pytest.mark.parametrize(("module", "settings"), MODELS)
def test_learns(module: ModuleType, settings: Any, learns: Callable[..., None]) -> None:
    learns(module, settings, uses_source=True)
