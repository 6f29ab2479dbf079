"""What MkDocs does besides: the cards of the shipped agents, which lie beside their weights, are part of the site."""

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files, InclusionLevel

ROOT = Path(__file__).parent.parent
FOLDER = "checkpoints"


def on_files(files: Files, config: Any) -> Files:
    """Add the cards and their pictures."""
    for path in sorted((ROOT / FOLDER).glob("*/*")):
        if path.suffix in (".md", ".png"):
            place = path.relative_to(ROOT).as_posix()
            files.append(File.generated(config, place, abs_src_path=str(path), inclusion=InclusionLevel.NOT_IN_NAV))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links that lead from docs/ to the cards in a copy of the repository lead to those in the site."""
    return markdown.replace(f"](../{FOLDER}/", f"]({FOLDER}/")
