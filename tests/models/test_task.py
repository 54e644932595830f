"""The cross-domain task: what is held out, what is read from files, what is refused."""

import dataclasses
import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpassay.core.errors import InvalidInput
from dpassay.data.domain_files import load_domains, rating_files
from dpassay.data.pricdr_tasks import TASKS
from dpassay.data.ratings import Ratings
from dpassay.models.published import Publication, published
from dpassay.models.task import NEGATIVES, POSITIVES, drawn_task, load_task, synthetic_task

MUSIC = [(user, item) for user in range(3) for item in (user, 3, 4 + user)]


def files(folder: Path, music: list[tuple[int, int]] = MUSIC, book_users: int = 3, split: str = "") -> Path:
    """The three files of a task of three users; user u has music u, 3 and 4 + u, of which 3 is for the test."""
    lines = "".join(f"{user},{item},4,9,9\n" for user, item in music)
    content = {
        "book_ratings": "".join(f"{user},{item},5,9,9\n" for user in range(book_users) for item in range(user + 1)),
        "music_ratings": lines,
    }
    for name, text in content.items():
        with gzip.open(folder / f"{name}.csv.gz", "wt") as file:
            file.write(f"user,item,rating,other_user,other_item\n{text}")
    split = split or "".join(f"{user},{4 + user},3,{(user + 1) % 3} {4 + (user + 1) % 3}\n" for user in (2, 0, 1))
    with gzip.open(folder / "music_split.csv.gz", "wt") as file:
        file.write(f"user,valid_item,test_item,negatives99\n{split}")
    return folder


def test_a_task_is_read_without_its_held_out_items(tmp_path: Path) -> None:
    task = load_task(files(tmp_path))
    assert (task.num_users, task.num_source_items, task.num_target_items) == (3, 3, 7)
    np.testing.assert_array_equal(task.source.toarray(), np.tril(np.ones((3, 3))))
    np.testing.assert_array_equal(task.target.toarray(), np.eye(3, 7))
    np.testing.assert_array_equal(task.validation, [4, 5, 6])
    np.testing.assert_array_equal(task.test, [3, 3, 3])
    np.testing.assert_array_equal(task.negatives, [[1, 5], [2, 6], [0, 4]])
    assert [entry["ratings"] for entry in task.inputs] == [6, 9, 6]
    changed = files(tmp_path, split="0,3,4,1 5\n1,5,3,2 6\n2,6,3,0 4\n")  # another item for validation
    assert load_task(changed).inputs[:2] == task.inputs[:2]
    assert load_task(changed).inputs[2]["sha256"] != task.inputs[2]["sha256"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"music": MUSIC[:6]}, "3 users in book, 2 in music, 3 in the split; number the same users"),
        ({"book_users": 2}, "2 users in book"),
        ({"split": "0,4,3,1\n1,5,3,2\n"}, "2 in the split"),
        ({"split": "0,9,3,1\n1,5,3,2\n2,6,3,0\n"}, "holds out item 9; items of the target are 0 to 6"),
        ({"split": "0,4,6,1\n1,5,3,2\n2,6,3,0\n"}, "never rated; number items alike"),
        ({"split": "0,4,3,0\n1,5,3,2\n2,6,3,0\n"}, "user 0: the negative 0 is a training rating"),
        ({"split": "0,4,3,8\n1,5,3,2\n2,6,3,0\n"}, "names items 0 to 8; allowed is 0 to 6"),
    ],
)
def test_files_that_do_not_belong_together(tmp_path: Path, change: dict, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        load_task(files(tmp_path, **change))


def test_a_folder_is_needed(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no folder"):
        load_task(tmp_path / "absent")
    with pytest.raises(InvalidInput, match=r"no file .*book_ratings"):
        load_task(tmp_path)


def test_a_task_of_the_papers_size_is_read_under_its_name(tmp_path: Path) -> None:
    sizes = TASKS["Amazon Music to Book"]
    users, items = sizes.users, sizes.target_items

    def write(name: str, number: int, ratings: int) -> None:
        own = np.sort(np.arange(ratings) % users)
        place = np.arange(ratings) - np.searchsorted(own, own)  # the how manieth rating of its user
        item = (7 * own + place) % number
        item[-1] = number - 1
        pd.DataFrame({"user": own, "item": item, "rating": 4}).to_csv(
            tmp_path / f"{name}.csv.gz", index=False, compression={"method": "gzip", "compresslevel": 1}
        )

    write("music_ratings", sizes.source_items, sizes.source_ratings)
    write("book_ratings", items, sizes.target_ratings)
    user = np.arange(users)
    never = (7 * user + 1000) % items
    held = {"user": user, "valid_item": 7 * user % items, "test_item": (7 * user + 1) % items}
    split = pd.DataFrame({**held, "negatives99": [" ".join(map(str, (n + np.arange(99)) % items)) for n in never]})
    split.to_csv(tmp_path / "book_split.csv.gz", index=False)
    task = load_task(tmp_path, "music", "book")
    assert task.name == "Amazon Music to Book"
    assert [entry["name"] for entry in task.inputs] == ["Amazon Music", "Amazon Book", "Amazon Music to Book, split"]
    assert task.target.nnz == sizes.target_ratings - 2 * users
    sketch = published(task.source, Publication(epsilon=64.0))  # the additive form: no dense matrix, no singular values
    assert sketch.shape == (users, 400)
    means = np.asarray(task.source.mean(axis=0))
    lengths = np.asarray(task.source.sum(axis=1)) - 2 * (task.source @ means) + means @ means
    expected = lengths + Publication(epsilon=64.0).mechanism(users).noise ** 2
    assert np.mean((sketch**2).sum(axis=1) / expected) == pytest.approx(1, abs=0.005)


def domain(seed: int, users: int = 80, items: int = 150, each: int = 45) -> Ratings:
    """Ratings of 1 to 5 by every user of `each` items, ids of users shared; user 0 has only low ones."""
    generator = np.random.default_rng(seed)
    chosen = np.concatenate([generator.choice(items, each, replace=False) for _ in range(users)])
    owner = np.repeat(np.arange(users), each)
    values = np.where(owner == 0, 2.0, generator.integers(1, 6, users * each))
    return Ratings(owner, chosen, values, users, items, name=f"domain {seed}")


def test_a_drawn_task_holds_out_liked_items_and_ranks_them_among_others() -> None:
    source, target = domain(1), domain(2)
    task = drawn_task(source, target, seed=3)
    assert task.num_users == 79, "user 0 likes nothing"
    liked = (target.dense() >= 3)[1:]
    shown = liked[:, liked.sum(0) >= POSITIVES]
    heldout = np.column_stack([task.validation, task.test])
    rows = np.arange(79)[:, None]
    assert shown[rows, heldout].all()
    assert not shown[rows, task.negatives].any()
    assert all(len({*row}) == 2 + NEGATIVES for row in np.column_stack([heldout, task.negatives]).tolist())
    whole = task.target.toarray()
    whole[rows, heldout] = 1
    np.testing.assert_array_equal(whole > 0, shown)
    assert task.name == "domain 1 to domain 2, split drawn with seed 3"
    again, other = drawn_task(source, target, seed=3), drawn_task(source, target, seed=4)
    assert [entry["sha256"] for entry in again.inputs] == [entry["sha256"] for entry in task.inputs]
    assert other.inputs[:2] == task.inputs[:2]
    assert (other.test != task.test).any()


def test_a_task_that_cannot_be_drawn_says_what_it_needs() -> None:
    with pytest.raises(InvalidInput, match="the same ratings; give two domains"):
        drawn_task(domain(1), domain(1))
    with pytest.raises(InvalidInput, match="no user with 6 ratings in the upper half of the scale in both domains"):
        drawn_task(domain(1, each=4), domain(2))
    with pytest.raises(InvalidInput, match=r"60 target items are left .*; everyone needs 99 others"):
        drawn_task(domain(1), domain(2, items=60))


def test_douban_is_drawn_with_the_users_and_items_of_the_paper(real_data: Path) -> None:
    folder = real_data / "douban-raw"
    if not folder.is_dir():
        pytest.skip("needs the Douban ratings: set DPASSAY_DATA to a folder that holds douban-raw")
    task = drawn_task(*load_domains(rating_files(folder)))
    sizes = TASKS["Douban Book to Music"]
    assert (task.num_users, task.num_source_items, task.num_target_items) == (924, 3_916, 4_228)
    assert (task.source.nnz, task.target.nnz + 2 * 924) == (sizes.source_ratings, sizes.target_ratings)


def test_made_up_tasks_follow_the_split_rule() -> None:
    task = synthetic_task(50, 60, 200, 900, 1000, seed=3)
    rows = np.arange(50)[:, None]
    trained = task.target.toarray() > 0
    heldout = np.column_stack([task.validation, task.test, task.negatives])
    assert heldout.shape == (50, 2 + NEGATIVES)
    assert all(len(set(row)) == len(row) for row in heldout.tolist())
    assert not trained[rows, heldout].any()
    assert 0.95 * 900 <= task.source.sum() <= 900  # short only of what the busiest users cannot have
    assert 0.95 * 1000 <= task.target.sum() + 2 * 50 <= 1000
    assert trained.any(axis=1).all()
    assert set(task.target.data) == {1.0}
    popularity = np.sort(trained.sum(axis=0))
    assert popularity[-20:].mean() > 3 * popularity[80:120].mean()
    again, other = synthetic_task(50, 60, 200, 900, 1000, seed=3), synthetic_task(50, 60, 200, 900, 1000, seed=4)
    assert again.inputs == task.inputs
    assert all(one["sha256"] != two["sha256"] for one, two in zip(other.inputs, task.inputs, strict=True))


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((50, 60, 200, 149, 1000), "149 source ratings for 50 users; give at least 150"),
        ((50, 60, 200, 900, 149), "149 target ratings for 50 users; give at least 150"),
        ((50, 60, 100, 900, 1000), "1000 target ratings do not fit 100 items; give at least 139 items"),
        ((50, 30, 200, 900, 1000), "900 source ratings do not fit 30 items; give at least 36 items"),
    ],
)
def test_sizes_that_cannot_be(sizes: tuple[int, ...], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        synthetic_task(*sizes)


def test_rows_are_the_same_users_everywhere() -> None:
    task = synthetic_task(50, 60, 200, 900, 1000)
    with pytest.raises(InvalidInput, match="source has 49 rows, target 50"):
        dataclasses.replace(task, source=task.source[:49])
    with pytest.raises(InvalidInput, match=r"user 0: the test item \d+ is a training rating"):
        dataclasses.replace(task, test=task.target.indices[task.target.indptr[:-1]])


@pytest.mark.realdata
def test_douban(real_data: Path) -> None:
    folder = real_data / "douban-book-music"
    if not folder.is_dir():
        pytest.skip("needs the Douban Book to Music task in DPASSAY_DATA")
    task = load_task(folder)
    assert (task.num_users, task.num_source_items, task.num_target_items) == (924, 3916, 4228)
    assert (task.source.sum(), task.target.sum()) == (50_429, 50_157 - 2 * 924)
    assert task.negatives.shape == (924, NEGATIVES)
