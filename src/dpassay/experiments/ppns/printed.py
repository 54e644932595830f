"""The numbers printed in section 7 of Lu and Shen, digits as printed."""

from collections.abc import Mapping

METHODS = ("kNN", "PPNS", "nPNS", "PNCF")

_TENTHS = tuple(f"{number / 10:.1f}" for number in range(1, 11))

AXES: Mapping[int, tuple[str, tuple[str, ...]]] = {
    1: ("p", _TENTHS),
    2: ("p", _TENTHS),
    3: ("k", tuple(str(number) for number in range(10, 101, 10))),
    4: ("rho", _TENTHS[:9]),
}
"""Table number -> what its columns are, and their values."""


_PRINTED = {
    1: """
        kNN 0.6956 0.7027 0.6908 0.6835 0.7074 0.6849 0.6899 0.6847 0.6746 0.6897
        PPNS 0.8333 0.7813 0.7289 0.7134 0.7085 0.6872 0.6914 0.6854 0.6792 0.6897
        nPNS 0.8762 0.8918 0.8884 0.8797 0.8878 0.8863 0.8889 0.8873 0.8781 0.8893
        PNCF 0.8798 0.8928 0.8885 0.8738 0.8753 0.8790 0.8845 0.8869 0.8783 0.8940
    """,
    2: """
        kNN 1 1 1 1 1 1 1 1 1 1
        PPNS 15 13 10 8 7 6 5 3 2 1
        nPNS 17 17 17 17 17 17 17 17 17 17
        PNCF 17 17 17 17 17 17 17 17 17 17
    """,
    3: """
        kNN 0.8065 0.7149 0.7288 0.6942 0.6957 0.6644 0.6679 0.6574 0.6699 0.6746
        PPNS 0.8962 0.8017 0.7716 0.7395 0.7430 0.7140 0.7225 0.7140 0.7258 0.7362
        nPNS 0.9687 0.9131 0.9034 0.8867 0.8904 0.8698 0.8695 0.8592 0.8599 0.8604
        PNCF 0.9856 0.9245 0.9094 0.8862 0.8941 0.8669 0.8687 0.8528 0.8624 0.8650
    """,
    4: """
        kNN 0.6815 0.6962 0.6914 0.6740 0.6821 0.6725 0.6887 0.6808 0.6910
        PPNS 0.7310 0.7326 0.7175 0.7160 0.7374 0.7107 0.7289 0.7185 0.7196
        nPNS 0.8915 0.8817 0.8873 0.8770 0.8801 0.8657 0.8812 0.8701 0.8813
        PNCF 0.8911 0.8841 0.8932 0.8778 0.8862 0.8667 0.8837 0.8738 0.8733
    """,
}

TABLES: Mapping[int, Mapping[str, tuple[str, ...]]] = {
    table: {method: tuple(numbers) for method, *numbers in map(str.split, text.strip().splitlines())}
    for table, text in _PRINTED.items()
}
"""Table number -> method -> one printed number per column."""
