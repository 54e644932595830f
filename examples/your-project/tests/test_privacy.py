"""The claims, as tests. The second one fails: it finds the bug in `noisy_total`."""

from dpassay.pytest_plugin import assert_private

from mechanisms.ratings import noisy_likes, noisy_total

RATINGS, WITHOUT_THE_LAST = [5, 3, 4, 1, 5], [5, 3, 4, 1]


def test_noisy_likes_is_private():
    assert_private(noisy_likes, RATINGS, WITHOUT_THE_LAST, epsilon=0.5)


def test_noisy_total_is_private():
    assert_private(noisy_total, RATINGS, WITHOUT_THE_LAST, epsilon=0.5)
