"""The fingerprint: anything that may change what is judged changes it, and nothing else does."""

import functools
import os
import subprocess
import sys
import threading
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import dpassay as dp
from dpassay.core.errors import InvalidInput
from dpassay.runs.fingerprint import fingerprint

FILES = {
    "shop/__init__.py": "",
    "shop/release.py": """
from dpassay import from_callable
from shop import noise
from .limits import BOUND

def release(rng, data):
    from shop.late import shift
    return noise.add(rng, min(sum(data), BOUND)) + shift()

def scaled(scale):
    def inner(rng, data):
        return release(rng, data) * scale
    return inner

class Counter:
    def __init__(self, epsilon):
        self.epsilon = epsilon
    def sample(self, key, data):
        return noise.add(None, len(data)) / self.epsilon

WRAPPED = from_callable(release)
""",
    "shop/noise.py": "from shop.scale import SCALE\n\ndef add(rng, value): return value + rng.laplace(0, SCALE)\n",
    "shop/scale.py": "SCALE = 1.0\n",
    "shop/limits.py": "BOUND = 10\n",
    "shop/late.py": "def shift():\n    return 0\n",
    "shop/unrelated.py": "NAME = 'shop'\n",
}
PRINT = """
from dpassay.runs.fingerprint import fingerprint
from dpassay.core.privacy import PrivacyClaim
from shop import release, unrelated
for mechanism in (release.release, release.WRAPPED, release.Counter(0.5), release.scaled(2.0)):
    print(fingerprint(mechanism, {"c", "a", "b"}, [1.0, None], PrivacyClaim(1.0)))
"""


@pytest.fixture
def shop(tmp_path):
    """Writes a user's package; gives the fingerprints of its four mechanisms as a fresh process sees them."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    def run(hash_seed="1", **changes):
        for name, (old, new) in changes.items():
            path = tmp_path / "shop" / f"{name}.py"
            assert old in path.read_text()
            path.write_text(path.read_text().replace(old, new))
        source = str(Path(__file__).parents[2] / "src")
        done = subprocess.run(
            [sys.executable, "-B", "-c", PRINT],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": source, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.split()

    return run


def test_it_is_the_same_in_every_process_and_tells_mechanisms_apart(shop):
    first = shop()
    assert len(set(first)) == 4
    assert shop(hash_seed="2") == first


def test_neither_comments_nor_formatting_nor_other_files_change_it(shop):
    first = shop()
    assert shop(noise=("def add", "# the noise\ndef  add"), unrelated=("shop", "market")) == first


@pytest.mark.parametrize(
    "changes",
    [
        {"release": ("min(sum", "max(sum")},
        {"noise": ("value +", "value -")},
        {"scale": ("1.0", "2.0")},  # a constant, imported by a module that the mechanism imports
        {"limits": ("10", "20")},  # imported by its relative name
        {"late": ("return 0", "return 1")},  # imported when it is called
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_change_in_any_file_that_is_used_changes_every_fingerprint(shop, changes):
    assert not set(shop()) & set(shop(**changes))


def scaled(factor):
    def inner(rng, data):
        return factor * data + rng.laplace()

    return inner


@dataclass(frozen=True)
class Noisy:
    scale: float = 1.0

    @functools.cached_property
    def table(self):
        return np.zeros(1000)

    def sample(self, key, data):
        return data


CLAIM = dp.PrivacyClaim(1.0)
BASE = (scaled(2.0), np.zeros(3), {"a": [1, None], "b": {2, 3}}, CLAIM, "values")
first, second = lambda rng, data: 1, lambda rng, data: 2


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (0, scaled(3.0)),
        (0, functools.partial(scaled(2.0), data=1)),
        (0, Noisy()),
        (0, Noisy(2.0)),
        (0, dp.from_callable(scaled(2.0))),
        (0, dp.from_callable(scaled(3.0))),
        (0, dp.from_callable(scaled(3.0), batched=True)),
        (0, first),
        (0, second),
        (0, dp.mechanism("npns")),
        (0, dp.mechanism("npns", num_neighbors=7)),
        (1, np.array([0.0, 0, -0.0])),
        (1, np.zeros(3, np.float32)),
        (1, np.zeros((3, 1))),
        (1, [0.0, 0.0, 0.0]),
        (1, (0.0, 0.0, 0.0)),
        (1, np.array([0.0, 0, np.nan])),
        (2, {"a": [1, None], "b": {2, 4}}),
        (2, {"a": [1, 0], "b": {2, 3}}),
        (2, {"a": [1, ""], "b": {2, 3}}),
        (2, {"b": {2, 3}, "a": [1, None]}),
        (2, {"a": [True, None], "b": {2, 3}}),
        (3, dp.PrivacyClaim(1.0000001)),
        (3, replace(CLAIM, delta=1e-9)),
        (3, replace(CLAIM, relation=dp.NeighboringRelation.parse("replace_one:rating"))),
        (4, "bits"),
    ],
)
def test_every_part_counts(place, value):
    other = (*BASE[:place], value, *BASE[place + 1 :])
    assert fingerprint(*other) != fingerprint(*BASE)


def test_cases_differ_from_each_other():
    mechanisms = [scaled(2.0), scaled(3.0), Noisy(), Noisy(2.0), first, second, dp.from_callable(scaled(2.0))]
    assert len({fingerprint(each, *BASE[1:]) for each in mechanisms}) == len(mechanisms)


def test_equal_values_made_anew_are_the_same():
    again = (scaled(2.0), np.zeros(3), {"a": [1, None], "b": {3, 2}}, dp.PrivacyClaim(1.0), "values")
    assert fingerprint(*again) == fingerprint(*BASE)


def test_what_is_computed_on_demand_is_no_parameter():
    mechanism = Noisy()
    before = fingerprint(mechanism, *BASE[1:])
    assert mechanism.table.size == 1000
    assert fingerprint(mechanism, *BASE[1:]) == before


def test_ratings_and_compiled_functions():
    import jax

    ratings = dp.synthetic(4, 3, seed=1)
    other = dp.synthetic(4, 3, seed=2)
    compiled = jax.jit(lambda key, data: jax.random.laplace(key) + data)
    changed = jax.jit(lambda key, data: jax.random.laplace(key) + 2 * data)
    assert len({fingerprint(each, ratings, other, CLAIM) for each in (compiled, changed)}) == 2
    assert fingerprint(compiled, ratings, other, CLAIM) == fingerprint(compiled, ratings, other, CLAIM)
    assert fingerprint(compiled, ratings, other, CLAIM) != fingerprint(compiled, other, ratings, CLAIM)
    assert fingerprint(compiled, jax.numpy.ones(2), 0, CLAIM) != fingerprint(compiled, jax.numpy.zeros(2), 0, CLAIM)


def test_functions_typed_at_a_prompt_are_told_apart_by_what_they_use():
    def typed(text):
        names = {"__name__": "__main__of_a_prompt"}
        exec(text, names)
        return names["release"]

    texts = [
        "def release(rng, data): return data",
        "def release(rng, data): return data + 1",
        "scale = 1\ndef release(rng, data): return data * scale",
        "scale = 2\ndef release(rng, data): return data * scale",
        "def noise(): return 1\ndef release(rng, data): return [noise() for _ in data]",
        "def noise(): return 2\ndef release(rng, data): return [noise() for _ in data]",
        "class Noise:\n  def draw(self): return 1\ndef release(rng, data): return Noise().draw()",
        "class Noise:\n  def draw(self): return 2\ndef release(rng, data): return Noise().draw()",
    ]
    assert len({fingerprint(typed(text), *BASE[1:]) for text in texts}) == len(texts)
    assert fingerprint(typed(texts[3]), *BASE[1:]) == fingerprint(typed(texts[3]), *BASE[1:])


def test_an_installed_package_counts_by_its_contents(tmp_path, monkeypatch):
    from dpassay.runs.code import _recorded

    package, record = tmp_path / "site-packages" / "noises", tmp_path / "site-packages" / "noises-1.0.dist-info"
    package.mkdir(parents=True)
    record.mkdir()
    (package / "__init__.py").write_text("def noise(rng): return rng.laplace()\n")
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: noises\nVersion: 1.0\n")
    (tmp_path / "using_noises.py").write_text("import noises\ndef release(rng, data): return noises.noise(rng)\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.syspath_prepend(package.parent)
    import using_noises  # type: ignore[import-not-found]

    found = []
    for content in ("one", "two", "one"):
        (record / "RECORD").write_text(f"noises/__init__.py,sha256={content},40\nnoises/__pycache__/x.pyc,,\n")
        _recorded.cache_clear()
        found.append(fingerprint(using_noises.release, *BASE[1:]))
    _recorded.cache_clear()
    assert found[0] == found[2] != found[1]


def test_values_that_contain_themselves_end():
    loop: list = [1]
    loop.append(loop)
    assert fingerprint(first, loop, 0, CLAIM) != fingerprint(first, [1, [1]], 0, CLAIM)


@pytest.mark.parametrize("thing", [threading.Lock(), (each for each in [1])])
def test_what_cannot_be_read_gets_one_line(thing):
    with pytest.raises(InvalidInput, match=r"cannot tell versions of a .* apart") as caught:
        fingerprint(first, thing, 0, CLAIM)
    assert "\n" not in str(caught.value)

    def held(rng, dataset):
        return thing

    with pytest.raises(InvalidInput, match=r"cannot tell versions of a .* apart"):
        fingerprint(held, 0, 1, CLAIM)
