"""What mkdocs does with the pages of docs/ besides rendering them.

A block of commands and what they print is highlighted as such: commands dark, output pale. (Pygments' own lexer takes the heading of a table for a prompt.)
Links to a page show its name without `.md`.
Links that leave docs/ for the source tree become text, once it is certain that what they name is there: the pages are read in the source tree as well,
where these links lead somewhere. A page that the navigation in mkdocs.yml does not name stands at its end, under "More".
"""

import logging
import re
import sys
from pathlib import Path

from pygments.lexer import RegexLexer
from pygments.lexers._mapping import LEXERS
from pygments.token import Generic, Text

LINK = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+)([^)#\s]*)(#[^)\s]*)?\)")
__all__ = ["SessionLexer"]  # what pygments loads

PAGE = re.compile(r"\[([\w./-]+)\.md\]\(")
SESSION = re.compile(r"^( *)```(?:console)?\n(?= *\$ )", re.MULTILINE)
ROOT = Path(__file__).resolve().parent.parent
log = logging.getLogger("mkdocs.hooks.docs_site")


class SessionLexer(RegexLexer):
    """Lines that begin with `$ `, with their continuations, are commands; all others are output."""

    name = "Sextant session"
    aliases = ["session"]
    tokens = {"root": [(r"(\$ )((?:.*\\\n)*.*\n)", lambda lexer, match, context=None: iter(
        [(match.start(1), Generic.Prompt, match.group(1)), (match.start(2), Text, match.group(2))])), (r".*\n", Generic.Output)]}


sys.modules.setdefault("docs_site_hooks", sys.modules[__name__])  # where pygments looks for the lexer
LEXERS["SessionLexer"] = ("docs_site_hooks", SessionLexer.name, tuple(SessionLexer.aliases), (), ())


def pages_of(nav):
    """The files that a navigation names."""
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict):
        for value in nav.values():
            yield from pages_of(value)
    else:
        for entry in nav:
            yield from pages_of(entry)


def on_config(config):
    named = set(pages_of(config.nav))
    docs = Path(config.docs_dir)
    others = [str(path.relative_to(docs)) for path in sorted(docs.rglob("*.md"))]
    if more := [path for path in others if path not in named and not path.startswith("examples/")]:
        config.nav.append({"More": more})
    return config


def on_page_markdown(markdown, page, config, files):
    def inside(match):
        text, up, path, _ = match.groups()
        target = (Path(page.file.abs_src_path).parent / up / path).resolve()
        if target.is_relative_to(ROOT / "docs"):
            return match.group()
        if not target.exists():
            log.warning("%s names %s%s, which does not exist", page.file.src_uri, up, path)
            return text
        name = str(target.relative_to(ROOT))
        return text if text.strip("`") == name else f"{text} (`{name}`)"

    return SESSION.sub(r"\1```session\n", PAGE.sub(r"[\1](", LINK.sub(inside, markdown)))
