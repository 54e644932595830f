"""What pyproject.toml cannot say: a README whose links are web addresses."""

import re
from pathlib import Path

from setuptools import setup

PICTURES = "https://raw.githubusercontent.com/dpassay/dpassay/main/"
PAGES = "https://github.com/dpassay/dpassay/blob/main/"

text = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
text = re.sub(r"(!\[[^]]*]\()(?!https?:)", rf"\g<1>{PICTURES}", text)
text = re.sub(r"(\[[^]]*]\()(?!https?:)", rf"\g<1>{PAGES}", text)
setup(long_description=text, long_description_content_type="text/markdown")
