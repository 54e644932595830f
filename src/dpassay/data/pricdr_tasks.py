"""Sizes of the six tasks of PriCDR (Chen et al., WWW 2022, Table 3)."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """How large a task is: users of both domains, items and ratings of each, held-out ratings included."""

    users: int
    source_items: int
    target_items: int
    source_ratings: int
    target_ratings: int


TASKS = {
    "Amazon Music to Book": Sizes(16_367, 18_467, 23_988, 233_251, 291_325),
    "Amazon Movie to Music": Sizes(15_914, 19_794, 20_058, 416_228, 280_398),
    "Amazon Movie to Book": Sizes(29_476, 24_091, 41_884, 591_258, 579_131),
    "Douban Book to Music": Sizes(924, 3_916, 4_228, 50_429, 50_157),
    "Douban Movie to Book": Sizes(1_574, 9_471, 6_139, 744_983, 85_602),
    "Douban Movie to Music": Sizes(1_055, 9_386, 4_981, 557_989, 60_626),
}
"""Table 3: task, and its sizes; the source domain has n = `source_items` items and m = `users` users."""
