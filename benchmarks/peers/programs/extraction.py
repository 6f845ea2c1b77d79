"""Extraction by trafilatura, run by `extraction` with the peer's interpreter.

It reads a JSON list of pages and prints the texts and the CPU seconds of each mode.
"""

from __future__ import annotations

import importlib
import json
import sys
import time


def main() -> None:
    """Extract every page in each mode, after a warm-up."""
    pages = json.load(sys.stdin)
    extract = importlib.import_module("trafilatura").extract
    ways = {}
    for name, options in {"default": {}, "recall": {"favor_recall": True}}.items():
        extract(pages[0], **options)
        begun = time.process_time()
        texts = [extract(page, **options) or "" for page in pages]
        ways[name] = {"texts": texts, "seconds": time.process_time() - begun}
    json.dump(ways, sys.stdout)


if __name__ == "__main__":
    main()
