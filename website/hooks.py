"""MkDocs hooks: add the pages of the repository's root, and fill in the generated reference.

The site shows the repository's own Markdown files, with the same links between them.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

from reference import filled_in  # noqa: E402

#: Where the site has the files of the repository's root.
ROOT_FILES = {
    "README.md": "overview.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "LICENSE": "licence.txt",
}
ROW = re.compile(r"^\|.*\|$", re.MULTILINE)
CODE = re.compile(r"`[^`]+`")
LINK = re.compile(r"\]\((\.\./|docs/)?([\w.-]+)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the root."""
    for name, place in ROOT_FILES.items():
        text = (HERE.parent / name).read_text(encoding="utf-8")
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links to their targets on the site, and fill in the generated reference."""
    from_root = page.file.src_uri in ROOT_FILES.values()

    def led(link: re.Match[str]) -> str:
        folder, name = link[1] or "", link[2]
        if folder == ("" if from_root else "../") and name in ROOT_FILES:
            return f"]({ROOT_FILES[name]}"
        return f"]({name}" if from_root and folder == "docs/" else link[0]

    return ROW.sub(_plain_pipes, filled_in(LINK.sub(led, markdown)))


def _plain_pipes(row: re.Match[str]) -> str:
    """Unescape pipes in code: GitHub needs the backslash in tables, Python-Markdown shows it."""
    return CODE.sub(lambda code: code[0].replace("\\|", "|"), row[0])
