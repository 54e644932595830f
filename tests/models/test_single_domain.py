"""Models trained on the target domain alone learn what popularity cannot tell, and nothing that is held out."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from dpassay.models import bpr, dmf, neumf

MODELS = [
    (bpr, bpr.Settings(factors=8, learning_rate=0.05, penalty=0.0, batch_size=64, epochs=20)),
    (neumf, neumf.Settings(layers=(16, 8), learning_rate=0.02, batch_size=128, epochs=20)),
    (
        dmf,
        dmf.Settings(
            user_layers=(32, 8),
            item_layers=(32, 8),
            negatives=1,
            learning_rate=0.003,
            weight_decay=0.0,
            batch_size=128,
            epochs=12,
        ),
    ),
]


@pytest.mark.parametrize(("module", "settings"), MODELS)
def test_learns(module: ModuleType, settings: Any, learns: Callable[..., None]) -> None:
    learns(module, settings, uses_source=False)
