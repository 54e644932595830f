"""Tests of libraries that the development environment does not have run in environments of their own."""

import importlib.util

# `python3 dev.py adapters` has each of them; elsewhere their files are not collected.
collect_ignore = [f"test_{name}.py" for name in ("diffprivlib", "opacus") if importlib.util.find_spec(name) is None]
