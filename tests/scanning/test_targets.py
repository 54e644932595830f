"""What a scan is pointed at: found by reading, never by importing."""

from pathlib import Path

import pytest

import dpassay as dp
from dpassay.scanning.targets import target, version

LOUD = 'raise SystemExit("imported")\n'
TELLING = "def release(data, epsilon):\n    return data\n"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {
        "loud/__init__.py": LOUD,
        "loud/release.py": LOUD + TELLING,
        "loud/deep/__init__.py": "",
        "loud/deep/noise.py": TELLING,
        "loud/plain.py": "def add(a, b):\n    return a + b\n",
        "loud/spoken.py": '"""differential privacy, in words alone"""\n',
        "loud/tests/test_release.py": TELLING,
        "loud/broken.py": "def release(data, epsilon:\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "loud"


def test_modules_that_define_something_and_speak_of_privacy_are_found(package: Path) -> None:
    found = target("loud")
    assert [module.name for module in found.modules] == ["loud.deep.noise", "loud.release"]
    assert (found.package, found.whole, found.path) == ("loud", True, "")


@pytest.mark.parametrize(
    ("name", "modules", "whole"),
    [
        ("loud.deep", ["loud.deep.noise"], False),
        ("loud.release", ["loud.release"], False),
        ("loud/release.py", ["loud.release"], False),
        ("loud/deep", ["loud.deep.noise"], False),
        ("./loud", ["loud.deep.noise", "loud.release"], True),
    ],
)
def test_parts_and_paths(package: Path, name: str, modules: list[str], whole: bool) -> None:
    found = target(name)
    assert [module.name for module in found.modules] == modules
    assert found.whole is whole
    assert found.path in ("", str(package.parent))


def test_a_folder_of_loose_modules_goes_by_its_own_name(package: Path) -> None:
    (package / "__init__.py").unlink()
    found = target("loud")
    assert [module.name for module in found.modules] == ["deep.noise", "release"]
    assert (found.package, found.whole, found.path) == ("loud", False, str(package))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("no_package_here", "no package or module"),
        ("loud.nothing", "no package or module"),
        ("no/such/path.py", "no Python source"),
        ("empty", "no Python file"),
        ("data.csv", "no Python source"),
        ("math", "compiled"),
    ],
)
def test_what_cannot_be_scanned(package: Path, name: str, reason: str) -> None:
    (package.parent / "empty").mkdir()
    (package.parent / "data.csv").write_text("1\n")
    with pytest.raises(dp.InvalidInput, match=reason) as told:
        target(name)
    assert "\n" not in str(told.value)


def test_a_distribution_is_known_by_its_own_name() -> None:
    assert target("dp-accounting").package == "dp_accounting"
    assert version("dp_accounting")
    assert version("no_package_here") == ""
