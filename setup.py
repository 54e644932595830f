"""What pyproject.toml cannot say: a README whose links are web addresses, and what a wheel leaves out of results."""

import json
import re
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

PICTURES = "https://raw.githubusercontent.com/dpassay/dpassay/main/"
PAGES = "https://github.com/dpassay/dpassay/blob/main/"
METRICS = [f"authors_{metric}{k}" for metric in ("HR", "NDCG", "MRR") for k in (5, 10)]
READ = {  # the fields of runs that verdicts read; the repository has all
    "rating-collection": ["setting", "mechanism", "variant", "epsilon", "seed", "constrained_rmse"],
    "pricdr": ["model", "seed", *METRICS],
    "pricdr-sweeps": ["model", "reading", "epsilon", "num_rows", "density", "share", "seed", "authors_HR10"],
}


class BuildPackage(build_py):
    """Builds the package with results that have only what verdicts read."""

    def run(self) -> None:
        """Copies the files, then rewrites the results."""
        super().run()
        for name in READ if not self.editable_mode else ():
            file = Path(self.build_lib, "dpassay", "results", f"{name}.json")
            result = json.loads(file.read_text(encoding="utf-8"))
            result["runs"] = [{key: run[key] for key in READ[name] if key in run} for run in result["runs"]]
            file.write_text(json.dumps(result), encoding="utf-8")


text = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
text = re.sub(r"(!\[[^]]*]\()(?!https?:)", rf"\g<1>{PICTURES}", text)
text = re.sub(r"(\[[^]]*]\()(?!https?:)", rf"\g<1>{PAGES}", text)
setup(cmdclass={"build_py": BuildPackage}, long_description=text, long_description_content_type="text/markdown")
