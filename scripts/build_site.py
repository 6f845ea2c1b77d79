"""Build the documentation site; exit 1 on any warning.

    .venv/bin/python -m scripts.build_site [FOLDER]

`make docs` does the same, and first installs its requirements. The site contains the pages of
`docs/`, a few of the repository's own, and the reference of REST and WebSocket from the OpenAPI and
AsyncAPI documents of this version. It needs no network to build or read, and its search works from
files. The navigation follows `docs/index.md`: each of its headings is a group.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

import orjson

ROOT = Path(__file__).resolve().parent.parent
OWN_PAGES = {
    "README.md": "project/readme.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security-policy.md",
    "changelog.d/README.md": "project/fragments.md",
}
FILES = "files"
DECISIONS = "decisions"
_FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(\[[^\]]*\])\(([^)\s]+)\)")
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)


def site_pages(root: Path) -> dict[str, str]:
    """Return the location of each page on the site, by its path in the repository."""
    docs = {
        path.relative_to(root).as_posix(): path.relative_to(root / "docs").as_posix()
        for path in sorted((root / "docs").rglob("*.md"))
    }
    return {**docs, **{page: place for page, place in OWN_PAGES.items() if (root / page).exists()}}


def relinked(text: str, page: str, pages: Mapping[str, str], files: set[str], root: Path) -> str:
    """Return the text of a page with links adapted to the site.

    Args:
        page: its path in the repository.
        files: receives the paths of other linked files of the repository.

    Raises:
        SystemExit: a link is broken.
    """

    def replaced(found: re.Match[str]) -> str:
        label, target = found.groups()
        path, _, anchor = target.partition("#")
        if not path or re.match(r"\w+:", target):
            return found[0]
        inside = PurePosixPath(os.path.normpath(PurePosixPath(page).parent / path)).as_posix()
        if (root / inside).is_dir():
            return f"{label[1:-1]} (`{inside}/`)"
        if inside not in pages:
            if not (root / inside).is_file():
                raise SystemExit(f"error: {page} links to {target}, which does not exist")
            files.add(inside)
        place = pages.get(inside, f"{FILES}/{inside.lstrip('.')}")
        start = PurePosixPath(pages[page]).parent
        way = os.path.relpath(place, start)
        return f"{label}({way}{'#' + anchor if anchor else ''})"

    parts = []
    end = 0
    for fence in _FENCE.finditer(text):
        parts += [_LINK.sub(replaced, text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, _LINK.sub(replaced, text[end:])])


def navigation(index: str) -> Iterator[tuple[str, list[str]]]:
    """Yield heading and pages of each group in the index, without file suffixes."""
    _, *parts = _HEADING.split(index)
    for title, text in zip(parts[::2], parts[1::2], strict=True):
        listed = re.findall(r"^- \[[^\]]*\]\(([^)#\s]+)\.md\)", text, re.MULTILINE)
        yield title, listed


def with_navigation(index: str) -> str:
    """Return the index with a hidden table of contents for each group."""
    trees = []
    for title, pages in navigation(index):
        listed = [page for page in pages if not page.startswith(f"{DECISIONS}/")]
        if len(listed) < len(pages):
            listed.append(f"{DECISIONS}/index")
        trees.append(_tree(title, listed))
    trees.append(_tree("Reference", ["api/rest", "api/websocket"]))
    own = [place.removesuffix(".md") for place in OWN_PAGES.values()]
    return "\n\n".join([index.rstrip(), *trees, _tree("Project", own)]) + "\n"


def _tree(title: str, pages: Sequence[str]) -> str:
    return "\n".join(["```{toctree}", ":hidden:", f":caption: {title}", "", *pages, "```"])


def prepare(root: Path, stage: Path) -> None:
    """Write all input of Sphinx into a folder."""
    from scripts.api_pages import rest_pages, websocket_pages

    pages, files = site_pages(root), set[str]()
    for page, place in pages.items():
        text = relinked((root / page).read_text(encoding="utf-8"), page, pages, files, root)
        _write(stage / place, with_navigation(text) if place == "index.md" else text)
    decisions = [place for place in pages.values() if place.startswith(f"{DECISIONS}/")]
    names = "\n".join(PurePosixPath(place).stem for place in decisions)
    text = (
        f"# Decisions\n\nWhy the larger things are as they are.\n\n```{{toctree}}\n\n{names}\n```\n"
    )
    _write(stage / DECISIONS / "index.md", text)
    for file in files:
        copy = stage / FILES / file.lstrip(".")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / file, copy)
    for name, build in (("openapi", rest_pages), ("asyncapi", websocket_pages)):
        document = described(name)
        _write(stage / FILES / f"{name}.json", document)
        for page, text in build(orjson.loads(document)).items():
            _write(stage / "api" / page, text)


def described(name: str) -> str:
    """Return a document that the product prints about itself."""
    program = Path(sys.executable).with_name("tollgate")
    done = subprocess.run([program, name], stdout=subprocess.PIPE, encoding="utf-8", check=True)
    return done.stdout


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def build(root: Path, out: Path) -> int:
    """Build into a folder, emptied first; return the exit code of Sphinx."""
    from app import __version__

    if out.exists() and any(out.iterdir()) and not (out / "objects.inv").exists():
        raise SystemExit(f"error: {out} holds something else than a site: name another folder")
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        stage = Path(folder) / "pages"
        prepare(root, stage)
        options = ["--fail-on-warning", "--keep-going", "--quiet", "--jobs", "auto"]
        folders = ["-c", str(root / "scripts" / "site"), "-d", f"{folder}/trees"]
        return subprocess.run(
            [sys.executable, "-m", "sphinx", *options, *folders, str(stage), str(out)],
            env={**os.environ, "TOLLGATE_SITE_VERSION": __version__},
            check=False,
        ).returncode


def main(arguments: Sequence[str]) -> int:
    """Build the site and print its location."""
    if len(arguments) > 1 or any(word.startswith("-") for word in arguments):
        print("usage: build_site [FOLDER]", file=sys.stderr)
        return 2
    out = Path(*arguments) if arguments else ROOT / "site"
    code = build(ROOT, out)
    if code == 0:
        print(f"The site is built: {out / 'index.html'}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
