"""The datasets of an audit: numbers, lists, matrices, ratings; and one clear line for files that hold none."""

import json

import numpy as np
import pytest

from dpassay.core.errors import InvalidInput
from dpassay.data.dataset_files import dataset_text, load_dataset, load_dataset_pair


def written(folder, name, content):
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_json_holds_numbers_lists_and_matrices_with_gaps(tmp_path):
    assert load_dataset(written(tmp_path, "a.json", 3)) == 3
    assert load_dataset(written(tmp_path, "a.json", "0.5")) == 0.5
    assert load_dataset(written(tmp_path, "a.json", '"yes"')) == "yes"
    whole = load_dataset(written(tmp_path, "a.json", [1, 2]))
    assert whole.dtype.kind == "i"
    assert whole.tolist() == [1, 2]
    matrix = load_dataset(written(tmp_path, "a.json", [[1, None], [2.5, 0]]))
    np.testing.assert_array_equal(matrix, [[1, np.nan], [2.5, 0]])


def test_what_is_no_array_reaches_the_mechanism_as_it_is(tmp_path):
    for content in (["a", "b"], {"age": 30}, [{"age": 30}], [[1, "x"], [2]]):
        assert load_dataset(written(tmp_path, "a.json", content)) == content


def test_npy_keeps_its_type_and_shape(tmp_path):
    array = np.arange(6, dtype=np.int32).reshape(1, 2, 3)
    np.save(tmp_path / "a.npy", array)
    found = load_dataset(tmp_path / "a.npy")
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, array)


def test_ratings_of_two_files_share_users_and_items(tmp_path):
    first = written(tmp_path, "a.csv", "user,item,rating\nbo,x,5\nal,x,-0.5\nal,y,0\n")
    second = written(tmp_path, "b.csv", "user,item,rating\nal,x,-0.5\nal,z,2\n")
    one, two = load_dataset_pair(first, second)
    np.testing.assert_array_equal(one, [[-0.5, 0, np.nan], [5, np.nan, np.nan]])
    np.testing.assert_array_equal(two, [[-0.5, np.nan, 2], [np.nan, np.nan, np.nan]])


def test_ratings_in_json_share_a_shape_and_may_state_it(tmp_path):
    one, two = load_dataset_pair(
        written(tmp_path, "a.json", {"users": [0, 1], "items": [0, 2], "values": [1, 2]}),
        written(tmp_path, "b.json", {"users": [0], "items": [0], "values": [1]}),
    )
    np.testing.assert_array_equal(one, [[1, np.nan, np.nan], [np.nan, np.nan, 2]])
    np.testing.assert_array_equal(two, [[1, np.nan, np.nan], [np.nan, np.nan, np.nan]])
    stated = {"users": [0], "items": [0], "values": [1], "num_users": 2, "num_items": 1}
    assert load_dataset(written(tmp_path, "a.json", stated)).shape == (2, 1)


def test_an_array_and_ratings_may_be_a_pair(tmp_path):
    one, two = load_dataset_pair(
        written(tmp_path, "a.json", [[5, None]]), written(tmp_path, "b.csv", "user,item,rating\n1,1,5\n1,2,3\n")
    )
    np.testing.assert_array_equal(one, [[5, np.nan]])
    np.testing.assert_array_equal(two, [[5, 3]])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", "", "cannot be read as JSON"),
        ("a.json", "[1,", "cannot be read as JSON"),
        ("a.json", "null", "holds null"),
        ("a.json", "[]", "an empty list"),
        ("a.json", "[[1, 2], [3]]", "rows of unequal lengths"),
        ("a.json", '{"users": [0], "items": ["x"], "values": [1]}', "'items' must be a list of whole numbers"),
        ("a.json", '{"users": [-1], "items": [0], "values": [1]}', "number them from 0"),
        ("a.json", '{"users": [0, 1], "items": [0], "values": [1]}', "have lengths 2, 1, 1"),
        ("a.json", '{"users": [0], "items": [0], "values": [1], "num_users": 0}', "allowed is 0 to -1"),
        ("a.json", '{"users": [0], "items": [0], "values": [1], "num_items": "two"}', "give a whole number"),
        ("a.npy", "no array", "cannot be read as a .npy array"),
        ("a.csv", "user,item,rating\n1,1,three\n", "is not a number"),
        ("a.csv", "", "is empty"),
    ],
)
def test_an_unusable_file_is_refused_in_one_line(tmp_path, name, content, message):
    with pytest.raises(InvalidInput, match=message) as refused:
        load_dataset(written(tmp_path, name, content))
    assert "\n" not in str(refused.value)


def test_a_pickle_in_npy_is_not_opened(tmp_path):
    np.save(tmp_path / "a.npy", np.array([{"x": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(InvalidInput, match="cannot be read"):
        load_dataset(tmp_path / "a.npy")
    with pytest.raises(InvalidInput, match="no file"):
        load_dataset(tmp_path / "absent.npy")


def test_datasets_in_words():
    assert dataset_text(np.array([5, 4])) == "[5, 4]"
    assert dataset_text(3) == "3"
    assert dataset_text(np.zeros((100, 3))) == "array of shape (100, 3)"
    assert dataset_text("x" * 200).endswith("...")
