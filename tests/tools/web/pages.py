"""A page with everything around its content that pages have, and a web without a network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from app.core.errors import ToolFailed
from app.domain.web import SearchResult
from app.operations.web.protocol import MAX_BYTES, TIMEOUT_S, WebResponse

ARTICLE = " ".join(f"Sentence number {number} of the story." for number in range(40))
PAGE = f"""<!doctype html><html lang="en-GB"><head><title> The
 story </title><base href="/docs/"><meta name="Description" content="What it  tells">
<link rel="canonical" href="story.html"><style>p {{color: red}}</style>
<script>var hidden = "script text";</script></head><body>
<header><a href="/">Site name</a></header><nav><a href="/one">Menu entry</a></nav>
<div class="cookie-banner">Accept our cookies</div><div style="display: none">Unseen words</div>
<main><h1>A story<a class="headerlink" href="#a">¶</a></h1>
<p>{ARTICLE} See <a href="next.html#x">the <b>next</b> page</a>.</p><noscript>No script</noscript>
<pre><code class="language-python">def f():
    return 1</code></pre>
<table><tr><th>Name</th><th>Size</th></tr><tr><td>a</td><td>1</td></tr></table>
<ul><li>first</li><li>second</li></ul><img src="i.png" alt="A picture"><a href="#top">Top</a>
<a href="javascript:alert(1)">Bad</a><a href="mailto:a@b.c">Mail</a><a href="next.html#x">again</a>
</main><aside>Other stories</aside><footer>Imprint</footer></body></html>"""


@dataclass
class PagesByHeart:
    """A `WebAccess` without a network."""

    pages: dict[str, bytes]
    asked: list[tuple[str, float, bool]] = field(default_factory=list)

    async def request(self, method: str, url: str, **_: Any) -> WebResponse:
        raise AssertionError(f"{method} {url} is not for pages")

    async def page(
        self,
        url: str,
        *,
        timeout_s: float = TIMEOUT_S,
        max_bytes: int = MAX_BYTES,
        crawling: bool = False,
    ) -> WebResponse:
        self.asked.append((url, timeout_s, crawling))
        if url not in self.pages:
            raise ToolFailed("no such page", code="fetch_failed")
        return WebResponse(url, 200, (("content-type", "text/html"),), self.pages[url])


class EngineByHeart:
    """A `SearchEngine` that finds as many pages as are wanted, and more."""

    name = "by heart"

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    async def search(self, query: str, max_results: int) -> Sequence[SearchResult]:
        self.asked.append((query, max_results))
        return [
            SearchResult(f"{query} {number}", f"http://a.b/{number}", "about it")
            for number in range(1, max_results + 3)
        ]
