"""What pyproject.toml cannot say: what is the same as in dpassay, and which fields of results verdicts read."""

import json
import tomllib
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist
from setuptools.errors import SetupError

METRICS = [f"authors_{metric}{k}" for metric in ("HR", "NDCG", "MRR") for k in (5, 10)]
READ = {  # the fields of runs that verdicts read; the repository has all
    "rating-collection": ["setting", "mechanism", "variant", "epsilon", "seed", "constrained_rmse"],
    "pricdr": ["model", "seed", *METRICS],
    "pricdr-sweeps": ["model", "reading", "epsilon", "num_rows", "density", "share", "seed", "authors_HR10"],
}


class BuildPapers(build_py):
    """Builds the folders with results that have only what verdicts read."""

    def run(self) -> None:
        """Copies the files, then rewrites the results."""
        super().run()
        for name in READ:
            file = Path(self.build_lib, "dpassay", "results", f"{name}.json")
            result = json.loads(file.read_text(encoding="utf-8"))
            result["runs"] = [{key: run[key] for key in READ[name] if key in run} for run in result["runs"]]
            file.write_text(json.dumps(result), encoding="utf-8")


class NoSources(sdist):
    """The sources lie outside this folder, where a source distribution cannot have them."""

    def run(self) -> None:
        """Refuses."""
        raise SetupError(
            "only a wheel is built here (python -m build --wheel papers): dpassay's sources have all of it"
        )


base = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text(encoding="utf-8"))["project"]
requirements = [each for each in base["optional-dependencies"]["papers"] if each != "dpassay-papers"]
setup(
    cmdclass={"build_py": BuildPapers, "sdist": NoSources},
    version=base["version"],
    python_requires=base["requires-python"],
    install_requires=[f"dpassay=={base['version']}", *requirements],
    options={"egg_info": {"egg_base": "."}},  # not among the sources of dpassay
)
