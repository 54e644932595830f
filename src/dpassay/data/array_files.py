"""Reads .npy and .json files, whatever they hold, and says of damaged ones in one line what is wrong."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np


def read_array_file(path: Path) -> Any:
    """The array of a .npy file, or the content of a .json file.

    Raises:
        ValueError: it cannot be read, or holds a number or a text that cannot be used; the message says why.
    """
    try:
        if path.suffix == ".npy":
            with path.open("rb") as file:
                return np.lib.format.read_array(file, allow_pickle=False)
        content = json.loads(path.read_text(encoding="utf-8-sig"), parse_int=_integer)
        json.dumps(content, ensure_ascii=False).encode()  # refuses lone surrogates, which are no characters
    except Exception as error:  # numpy and json raise many kinds at damaged files
        reason = str(error).splitlines()[0] if str(error) else "it is empty"
        raise ValueError(reason) from error
    return content


def _integer(digits: str) -> int:
    if math.isinf(float(digits)):
        raise ValueError(f"an integer of {len(digits.lstrip('-'))} digits is beyond what a number can be")
    return int(digits)
