"""Check the links of the built site: ``python docs/_site/links.py build/docs/html``.

Each link leads to a page that exists and, where it names a place, to a place on that page. The same holds for the
README's links to pages of `docs/`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

README = Path(__file__).parents[2] / "README.md"
# Themes bring templates, and frames are pages of their own.
_TEMPLATES, _FRAMES = "{{", re.compile(r'<iframe srcdoc="[^"]*"')
_ELSEWHERE = re.compile(r"^(https?:|mailto:|data:|javascript:)")


@cache
def places(page: Path) -> frozenset[str]:
    """Return the anchors of a page."""
    return frozenset(re.findall(r'\bid="([^"]+)"', page.read_text(encoding="utf-8")))


def links(page: Path) -> list[str]:
    """Return the links of a page to other pages of the site."""
    found = re.findall(r'(?:href|src)="([^"]+)"', _FRAMES.sub("", page.read_text(encoding="utf-8")))
    return [link.replace("&amp;", "&") for link in found if not _ELSEWHERE.match(link) and _TEMPLATES not in link]


def leads_nowhere(site: Path, page: Path, link: str) -> bool:
    """Whether a link's page or place is missing."""
    path, _, place = link.partition("#")
    target = (page.parent / unquote(path.partition("?")[0])).resolve() if path else page
    if target.is_dir():
        target /= "index.html"
    inside = target.is_file() and target.is_relative_to(site)
    return not inside or bool(place and target.suffix == ".html" and unquote(place) not in places(target))


def broken(site: Path) -> Iterator[str]:
    """The links that lead nowhere."""
    for page in sorted(site.rglob("*.html")):
        yield from (
            f"{page.relative_to(site)}: {link}" for link in sorted(set(links(page))) if leads_nowhere(site, page, link)
        )
    for link in re.findall(r"\]\(docs/([^)\s]+)\.md\)", README.read_text(encoding="utf-8")):
        if leads_nowhere(site, site / "index.html", f"{link}.html"):
            yield f"README.md: {link}"


def main(site: Path) -> int:
    """Name them."""
    found = list(broken(site.resolve()))
    print("\n".join(found) or "every link leads somewhere")  # noqa: T201  (it talks to the terminal)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
