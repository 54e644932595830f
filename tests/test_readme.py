"""What the README says can be run is run."""

import re
from pathlib import Path

from dpassay.commands.main import commands

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_examples_run():
    examples = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(examples) == 2
    names: dict = {}
    for example in examples:
        exec(compile(example, "README.md", "exec"), names)


def test_every_option_of_verify_that_is_shown_exists():
    shown = {
        option for line in README.splitlines() if "dev.py verify" in line for option in re.findall(r"--[a-z]+", line)
    }
    known = {option for parameter in commands.commands["verify"].params for option in parameter.opts}
    assert shown
    assert shown <= known
