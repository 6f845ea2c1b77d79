"""Text of a PDF, page by page, as a separate program inside the sandbox.

`python -c SOURCE FIRST LAST CHARS` reads the document from its input and prints one JSON object:
`pages` (their number) and `texts` (FIRST to LAST, from 1, up to CHARS characters), or `error` with
the reason. It imports nothing of the application.
"""

from __future__ import annotations

import io
import json
import logging
import resource
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pypdf import PdfReader

_MEMORY = 1 << 30


def main() -> None:
    first, last, chars = map(int, sys.argv[1:4])
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    logging.disable(logging.CRITICAL)
    try:
        answer = _answer(sys.stdin.buffer.read(), first, last, chars)
    except MemoryError:
        answer = {"error": "it exceeds the memory limit for documents"}
    except RecursionError:
        answer = {"error": "it is nested too deeply"}
    except Exception as error:  # noqa: BLE001 - a damaged file makes the parser fail anywhere
        answer = {"error": f"it is damaged ({type(error).__name__})"}
    sys.stdout.write(json.dumps(answer))


def _answer(data: bytes, first: int, last: int, chars: int) -> dict[str, object]:
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        return {"error": "it is encrypted and requires a password"}
    return {"pages": len(reader.pages), "texts": list(_texts(reader, first, last, chars))}


def _texts(reader: PdfReader, first: int, last: int, chars: int) -> Iterator[str]:
    for number in range(first - 1, min(last, len(reader.pages))):
        text = reader.pages[number].extract_text()
        yield text[:chars]
        chars -= len(text)
        if chars <= 0:
            return


if __name__ == "__main__":
    main()
