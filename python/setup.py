"""What pyproject.toml cannot express: the version of meson.build and the description of README.md, which are outside of this folder."""
import pathlib
import re

from setuptools import setup

ROOT = pathlib.Path(__file__).resolve().parent.parent

setup(
    version=re.search(r"^\s*version: '([^']+)'", (ROOT / "meson.build").read_text(encoding="utf-8"), re.M)[1],
    long_description=(ROOT / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
)
