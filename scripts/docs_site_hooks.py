"""What mkdocs does with the pages of docs/ besides rendering them: links that leave docs/ for the source tree become text, once it is
certain that what they name is there. The pages are read in the source tree as well, where these links lead somewhere."""

import logging
import re
from pathlib import Path

LINK = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+)([^)#\s]*)(#[^)\s]*)?\)")
ROOT = Path(__file__).resolve().parent.parent
log = logging.getLogger("mkdocs.hooks.docs_site")


def on_page_markdown(markdown, page, config, files):
    def inside(match):
        text, up, path, _ = match.groups()
        target = (Path(page.file.abs_src_path).parent / up / path).resolve()
        if target.is_relative_to(ROOT / "docs"):
            return match.group()
        if not target.exists():
            log.warning("%s names %s%s, which does not exist", page.file.src_uri, up, path)
        return f"{text} (`{target.relative_to(ROOT)}`)" if text.strip("`") != str(target.relative_to(ROOT)) else text

    return LINK.sub(inside, markdown)
