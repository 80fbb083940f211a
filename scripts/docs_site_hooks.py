"""What mkdocs does with the pages of docs/ besides rendering them.

Links that leave docs/ for the source tree become text, once it is certain that what they name is there: the pages are read in the source tree as well,
where these links lead somewhere. A page that the navigation in mkdocs.yml does not name stands at its end, under "More".
"""

import logging
import re
from pathlib import Path

LINK = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+)([^)#\s]*)(#[^)\s]*)?\)")
ROOT = Path(__file__).resolve().parent.parent
log = logging.getLogger("mkdocs.hooks.docs_site")


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

    return LINK.sub(inside, markdown)
