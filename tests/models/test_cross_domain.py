"""Models of pairs that see the source domain in plain text learn what popularity cannot tell, and nothing held out."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from dpassay.models import conet, ddtcdr

MODELS = [
    (conet, conet.Settings(layers=(16, 8), crossed=1, learning_rate=0.05, batch_size=64, epochs=30)),
    (ddtcdr, ddtcdr.Settings(layers=(16,), learning_rate=0.02, batch_size=128, epochs=20)),
]


@pytest.mark.parametrize(("module", "settings"), MODELS)
def test_learns(module: ModuleType, settings: Any, learns: Callable[..., None]) -> None:
    learns(module, settings, uses_source=True)
