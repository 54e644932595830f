"""Events in words: what a reader is told is the set of outputs that the event holds."""

import itertools

import numpy as np
import pytest

from dpassay.auditors.outputs import fit_encoder
from dpassay.auditors.scorers import Atoms, Column
from dpassay.auditors.wording import interval, is_mark, joined, one_of, outcome, threshold

BOOLEANS = tuple(f"output[{place}] is True" for place in range(12))


def row(*values):
    return np.array(values, np.float32)


def test_thresholds_and_intervals():
    assert threshold("output['m']['income']", 16.76, True) == "output['m']['income'] >= 16.76"
    assert threshold("output is None", 0.5, True) == "output is None"
    assert threshold("output[0] is True", 0.5, False) == "output[0] is False"
    assert threshold("output contains 3", 0.25, False) == "not (output contains 3)"
    assert interval("output", 2, 3) == "2 <= output < 3"
    assert interval("output", -np.inf, 3) == "output < 3"
    assert interval("output is NaN", 0.5, np.inf) == "output is NaN"


def test_marks_are_told_from_numbers_with_such_keys():
    marks = (
        "unseen output",
        "output is None",
        "output['is ok'].x[3] is NaN",
        "output raised ValueError",
        "output.x contains 'a b'",
    )
    numbers = ("output", "output['what is it']", "output.x[3]", "output[1] - output[0]", "len(output['a is b'])")
    assert [is_mark(name) for name in (*marks, *numbers)] == [True] * 5 + [False] * 5


def test_sums_have_the_name_of_what_is_summed():
    assert joined(("output[0]", "output[1]", "unseen output")) == ("sum(output)", "max(*output, 0)", "min(*output, 0)")
    assert joined(("output.x[0]", "output.x[1]")) == ("sum(output.x)", "max(output.x)", "min(output.x)")
    assert joined(("output[0]", "output.x"))[0] == joined(("output",))[0] == "sum of all numbers"


@pytest.mark.parametrize(
    ("names", "values", "words"),
    [
        (("output",), (3,), "output == 3"),
        (("output", "output is None"), (7, 1), "output is None"),
        (("output is 'a'", "output is 'b'"), (0, 0), "not (output is 'a' or output is 'b')"),
        (("output[0]", "output[1]", "output[2]"), (1, 0.5, 2), "output == [1, 0.5, 2]"),
        (("len(output)", "output[0]", "output[1]"), (1, 4, 9), "output == [4]"),
        (("len(output)", "output[0]", "output[1]"), (0, 4, 9), "output == []"),
        (("len(output)", "output['Oslo']", "output['Rome']"), (0, 1.27, 3), "len(output) == 0"),
        (("len(output.m)", "output.m['Oslo']", "output.n"), (0, 1.27, 3), "len(output.m) == 0 and output.n == 3"),
        (("output.n", "output.x[0]", "output.x[1]"), (3, 4, 9), "output.x == [4, 9] and output.n == 3"),
        (("output[0]", "output[1]", "output[1] is None"), (4, 9, 1), "output[0] == 4 and output[1] is None"),
        (BOOLEANS[:3], (1, 1, 0), "output == [True, True, False]"),
        (BOOLEANS, (1, 1) + 9 * (0,) + (1,), "output is 2 True, then 9 False, then True"),
        (("len(output)", *BOOLEANS), (9, 1, 1) + 10 * (0,), "output is 2 True, then 7 False"),
        (tuple(f"output[{place}]" for place in range(10)), (8,) + 9 * (0,), "output is 8, then 9 times 0"),
        (tuple(f"output is '{place}'" for place in range(64)), 63 * (0,) + (1,), "output is '63'"),
    ],
)  # fmt: skip
def test_outcomes(names, values, words):
    assert outcome(row(*values), names) == words


def test_long_outcomes_are_cut():
    alternating = outcome(row(*(place % 2 for place in range(12))), BOOLEANS)
    assert alternating.endswith("then False, then True, then ...")
    numbers = outcome(np.arange(30, dtype=np.float32), tuple(f"output['{place}']" for place in range(30)))
    assert numbers.startswith("output['0'] == 0 and ")
    assert numbers.endswith(" and output['7'] == 7 and ...")


def test_several_outcomes():
    assert one_of(["output == 1", "output == 3"], 0, True) == "output in {1, 3}"
    assert one_of(["output == 1", "output == 3"], 2, False) == "output not in {1, 3, 2 more}"
    assert one_of(["output == [1]", "output == [3]"], 1, True) == "output == [1] or output == [3] or 1 more outcomes"


def test_words_are_python_and_true_of_the_outputs_in_the_event():
    """Every threshold and outcome of short lists, dicts and mixed records, evaluated on the outputs themselves."""
    generator = np.random.default_rng(0)
    lists = [[bool(x) for x in generator.random(3) < 0.5] for _ in range(40)]
    for outputs in (lists, [{"a": first, "b": sum(each)} for each in lists for first in each[:1]]):
        encoder = fit_encoder(outputs[:20], outputs[20:])
        features = encoder.features(outputs)
        columns = range(2 * features.shape[1] + 2 if isinstance(outputs[0], list) else features.shape[1])
        for place, above in itertools.product(columns, (True, False)):
            column = Column(np.int32(place), True)
            words = column.describe(0.5, above, encoder.names)
            if "is True -" not in words and "unseen" not in words:
                inside = [bool(eval(words, {"output": output})) for output in outputs]
                assert inside == ((column(features) >= 0.5) == above).tolist()
        for number in range(5):
            table = Atoms.build(features[number : number + 1], np.ones(1))
            words = table.describe(0.5, True, encoder.names)
            inside = [bool(eval(words, {"output": output})) for output in outputs]
            assert inside == (table(features) == 1).tolist()
