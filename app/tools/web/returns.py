"""Result schemas of the web tools."""

from __future__ import annotations

from app.toolkit.returns import FLAG, INTEGER, TEXT, listed, maybe, record

WEB_SEARCH_RESULT = record(results=listed(record(title=TEXT, url=TEXT, snippet=TEXT)))
_PAGE = {
    "url": TEXT,
    "final_url": TEXT,
    "status": INTEGER,
    "title": maybe(TEXT),
    "extract_mode": TEXT,
    "media_type": TEXT,
    "description": maybe(TEXT),
    "canonical": maybe(TEXT),
    "language": maybe(TEXT),
    "extractor": TEXT,
    "truncated": FLAG,
    "length": INTEGER,
    "text": TEXT,
    "links": listed(record(text=TEXT, href=TEXT)),
    "headings": listed(record(level=INTEGER, text=TEXT)),
    "charset": maybe(TEXT),
    "warning": TEXT,
    "total_pages": INTEGER,
    "shown_pages": INTEGER,
}
_ONE_OF_MANY = record({**_PAGE, "error": TEXT, "code": TEXT})
WEB_FETCH_RESULT = record({**_PAGE, "results": listed(_ONE_OF_MANY), "total": INTEGER})
CRAWL_BATCH_RESULT = record(results=listed(_ONE_OF_MANY), total=INTEGER)
