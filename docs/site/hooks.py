"""What MkDocs does to pages: formulas are typeset, the command line's help is written, tables are not searched."""

import re
from collections.abc import Iterator
from typing import Any

import click

from dpassay.commands.main import commands
from dpassay.report.mathml import mathml

COMMAND_LINE = "reference/command-line.md"
FORMULA = re.compile(r"^```formula\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
WIDTH = 86  # characters of a line of help


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Typesets blocks of formulas, and writes `--help` of every command into its page of the reference."""
    markdown = FORMULA.sub(lambda block: f"<div>{mathml(block[1], 'block')}</div>", markdown)
    if "/tables/" in page.file.src_uri:
        page.meta["search"] = {"exclude": True}
    return markdown + "".join(_help(commands, "dpassay")) if page.file.src_uri == COMMAND_LINE else markdown


def _help(command: click.Command, name: str, parent: click.Context | None = None) -> Iterator[str]:
    context = click.Context(command, parent, name, terminal_width=WIDTH, **command.context_settings)
    yield f"\n## {context.command_path}\n\n```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for part in command.list_commands(context):
            if found := command.get_command(context, part):
                yield from _help(found, part, context)
