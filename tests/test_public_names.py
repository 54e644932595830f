"""The names of `dpassay` itself."""

import importlib
import pkgutil

import pytest

import dpassay as dp


def test_public_names_resolve():
    for name in dp.__all__:
        assert getattr(dp, name) is not None


@pytest.mark.parametrize("name", ["exact", "mechanism", "mechanisms", "replay", "search", "verify"])
def test_public_functions_stay_callable_after_their_modules_are_imported(name):
    for area in ("mechanisms", "auditors", "replay"):
        package = importlib.import_module(f"dpassay.{area}")
        for entry in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"dpassay.{area}.{entry.name}")
    for entry in pkgutil.iter_modules(dp.__path__):
        if entry.name != "__main__":
            importlib.import_module(f"dpassay.{entry.name}")
    assert callable(getattr(dp, name))


def test_unknown_public_name():
    with pytest.raises(AttributeError):
        dp.nonsense  # type: ignore[attr-defined]  # noqa: B018
