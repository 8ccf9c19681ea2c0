"""Contents -> the page: one HTML file that needs nothing else."""

from __future__ import annotations

from pathlib import Path

import jinja2

from . import compact
from .contents import Contents

_HERE = Path(__file__).parent
_SCRIPTS = (
    "dom",
    "numbers",
    "scale",
    "plot",
    "table",
    "data",
    "ranking",
    "heat",
    "roofline",
    "compile",
    "list",
    "main",
)
"""The files in js/, in an order in which each uses only those before it."""


def render(contents: Contents) -> str:
    """The page's text. Its styles, scripts and figures are part of it, and it is allowed to load nothing."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("page.html.j2").render(
        contents=contents,
        data=compact.as_json(contents),
        parameters=compact.parameters,
        styles=_text("page.css"),
        script=script(),
    )


def script() -> str:
    """The page's script: the files of js/ within one function, so that none of their names is global."""
    return "(() => {\n" + "\n".join(_text(f"js/{name}.js") for name in _SCRIPTS) + "})();\n"


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
