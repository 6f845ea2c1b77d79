"""Print how much of the contract is proven: `python -m tests.requirements.report`."""

import contextlib
import io
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.requirements.manifest import REQUIREMENTS, gaps
from tests.requirements.open import OPEN, PARTLY
from tests.requirements.pages import proven_by_scenes


class Collector:
    """A pytest plugin that keeps the ids that the collected tests are marked with."""

    def __init__(self) -> None:
        self.tested: set[str] = set()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Take the ids once everything is collected."""
        self.tested = {
            str(id_)
            for item in session.items
            for mark in item.iter_markers("requirement")
            for id_ in mark.args
        } | proven_by_scenes(Path(__file__).parents[2] / "web" / "e2e")


def render(tested: set[str]) -> str:
    """Render one line for each group: all, tested, open, and what is neither."""
    found = gaps(REQUIREMENTS, OPEN, tested)
    groups = Counter(requirement.group for requirement in REQUIREMENTS)
    closed = Counter(item.group for item in REQUIREMENTS if item.id in tested)
    still_open = Counter(item.group for item in REQUIREMENTS if item.id in OPEN)
    lines = ["group   all  tested  open  neither"]
    for group, count in groups.items():
        neither = " ".join(id_ for id_ in found.unproven if id_.rpartition("-")[0] == group)
        lines.append(
            f"{group:<6} {count:>4} {closed[group]:>7} {still_open[group]:>5}  {neither or '-'}"
        )
    lines.append(f"{'all':<6} {len(REQUIREMENTS):>4} {closed.total():>7} {still_open.total():>5}")
    for title, ids in (("unknown", found.unknown), ("open but tested", found.open_but_tested)):
        lines += [f"{title}: {' '.join(ids)}"] if ids else []
    lines += ["", "proven in part:", *(f"{id_:<6}  {lack}" for id_, lack in PARTLY.items())]
    return "\n".join(lines)


def main() -> int:
    """Collect the whole suite without running it and print the table."""
    collector = Collector()
    listing = io.StringIO()
    with contextlib.redirect_stdout(listing):
        code = pytest.main(["--collect-only", "--quiet"], plugins=[collector])
    if code != pytest.ExitCode.OK:
        print(listing.getvalue(), file=sys.stderr)
    print(render(collector.tested))
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
