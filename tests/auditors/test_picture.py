"""The picture of a learned event: simple, true of fresh outputs, and never evidence."""

import numpy as np
import pytest

from dpassay.auditors import events
from dpassay.auditors.audit import run_audit
from dpassay.auditors.fixed_sample import Counts
from dpassay.auditors.outputs import fit_encoder
from dpassay.auditors.picture import is_plain, picture
from dpassay.auditors.scorers import Column, Stack
from dpassay.core.privacy import PrivacyClaim


def vector(rng, shift):
    return [float(value) for value in rng.laplace(size=5) + shift]


def above_threshold(rng, bits):
    """Answers until the second one that is above: lists of different lengths."""
    answers = []
    for bit in bits:
        answers.append(bool(bit + rng.laplace() > 1))
        if sum(answers) == 2:
            break
    return answers


@pytest.mark.parametrize(
    ("mechanism", "one", "two"),
    [(vector, 0, 1), (above_threshold, [0, 1, 0, 1, 0, 1, 0, 1], [1, 0, 1, 0, 1, 0, 1, 0])],
)
def test_the_picture_is_a_python_expression_that_holds_as_often_as_it_says(mechanism, one, two):
    found = run_audit(mechanism, one, two, claim=PrivacyClaim(0.3), num_samples=8000)
    assert found.verdict.outcome == "refuted"
    assert not is_plain(found.tested[0].event.description)
    assert found.picture is not None
    words, generator = found.picture.event.description, np.random.default_rng(5)
    assert is_plain(words)
    for dataset, (hits, trials) in zip((one, two), found.picture.by_dataset, strict=True):
        share = float(np.mean([bool(eval(words, {"output": mechanism(generator, dataset)})) for _ in range(4000)]))
        assert hits / trials == pytest.approx(share, abs=5 * (share * (1 - share) / trials + 1e-9) ** 0.5 + 0.01)
    content = found.to_json()
    assert content["picture"]["description"] == words
    assert words not in [event["description"] for event in content["events"]]
    assert f'to picture it and no evidence, "{words}" happened in' in found.verdict.explanation


def test_what_is_plain_or_not_refuted_has_no_picture():
    loud = run_audit(lambda rng, data: data + rng.laplace(), 0, 2, claim=PrivacyClaim(0.5), num_samples=2000)
    assert loud.verdict.outcome == "refuted"
    assert loud.picture is None
    sound = run_audit(vector, 0, 0.1, claim=PrivacyClaim(2.0), num_samples=2000)
    assert sound.verdict.outcome == "not refuted"
    assert sound.picture is None


def test_where_nothing_simple_differs_there_is_no_picture():
    """A parity: neither column alone tells the sides apart."""
    generator = np.random.default_rng(0)
    first = generator.choice([-1, 1], size=(2, 4000)) * np.abs(generator.normal(size=(2, 4000)))
    second = np.abs(generator.normal(size=(2, 4000))) * np.sign(first) * [[1], [-1]]
    rows = np.stack([first, second], axis=2).astype(np.float32)
    encoder = fit_encoder([{"a": 0.5, "b": x} for x in (0.1, 1.5)], [{"a": 0.1, "b": 1.0}])
    rows = np.concatenate([rows, np.zeros((2, 4000, 1), np.float32)], axis=2)
    product = Stack((Column(np.int32(0)), Column(np.int32(1))), np.ones(2, np.float32))
    event = events.Event(product, 0.5, True, 0, (0.1, 0.0), "stack of threshold and threshold, score >= 0.5", 0.1)
    tested = events.Tested(0, event, Counts(50, 100, 5, 100), 1.0)
    assert picture(tested, list(rows), encoder) is None
    rows[0, :, 1] += 1
    found = picture(tested, list(rows), encoder)
    assert found is not None
    assert found.event.description.startswith("output['b'] ")
    assert found.by_dataset[0][1] == 2000


def test_items_that_some_outputs_lack_are_in_no_picture():
    """Where a list is shorter, another number fills the place: `output[1] >= cut` would not be what is counted."""
    generator = np.random.default_rng(0)

    def outputs(shift):
        lengths = generator.random(2000) < 0.5 + 0.1 * shift
        return [[float(x) for x in generator.normal(3 * shift, size=1 + longer)] for longer in lengths]

    sides = [outputs(0), outputs(1)]
    encoder = fit_encoder(*sides)
    event = events.Event(Column(np.int32(0)), 0.5, True, 0, (0.1, 0.0), "network over 4 columns, score >= 0.5", 0.1)
    tested = events.Tested(0, event, Counts(50, 100, 5, 100), 1.0)
    found = picture(tested, [encoder.features(side) for side in sides], encoder)
    assert found is not None
    assert found.event.description.startswith("len(output) ")


def test_words():
    assert is_plain("output >= 3.25")
    assert is_plain("output == [1] or output == [3]")
    assert not is_plain("output == [1] or output == [3] or 1 more outcomes")
    assert not is_plain("product of histograms over 3 columns, score < -3")
    assert not is_plain("output is Color.RED - output is Color.BLUE >= -0.5")
    assert not is_plain("output - output is None >= 4.76")
    assert not is_plain("output (rank) >= 12")
    assert not is_plain("sum of all numbers < 12")
