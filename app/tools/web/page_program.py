"""Extraction of a page's content, as a separate program inside the sandbox.

An HTML parser takes time quadratic in the nesting, which a page controls, so it runs where it can
be stopped and do no harm. `python -c SOURCE` reads one line of JSON (`mode`, `url`, `max_chars`,
`max_links`), then the page as UTF-8, and prints one JSON object. It imports nothing of the
application.
"""

from __future__ import annotations

import json
import re
import resource
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag, urljoin, urlsplit

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_MEMORY = 2 << 30
_NEVER = "script,style,noscript,template,iframe,object,embed,svg,canvas,dialog"
_AROUND = (
    "nav,aside,footer,button,select,input,textarea,[hidden],[aria-hidden=true],"
    "[role=navigation],[role=banner],[role=contentinfo],[role=search],[role=complementary],"
    "[role=dialog],[role=menu],[role=menubar],[role=toolbar]"
)
_CONTENT = ("main", "[role=main]", "article", "#content", "#main-content", ".main-content")
_UNSEEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
# Parts of class names and IDs of boilerplate around the content.
_ASIDE = frozenset(
    {
        *("ad", "ads", "advert", "advertisement", "banner", "breadcrumb", "breadcrumbs"),
        *("consent", "cookie", "cookies", "footer", "menu", "modal", "nav", "navbar"),
        *("navigation", "navlink", "newsletter", "pager", "pagination", "popup", "promo"),
        *("related", "share", "sharing", "sidebar", "sidenav", "skip", "social"),
        *("sphinxsidebar", "subscribe", "toc", "tooltip", "navheader", "navfooter"),
    }
)
# Boilerplate if they are mostly links.
_LINE_OF_LINKS = frozenset({"bottom", "head", "header", "links", "next", "panel", "prev", "top"})
_NAMED = ",".join(
    f"{tag}[{name}]"
    for tag in ("div", "section", "ul", "ol", "p", "span", "table")
    for name in ("class", "id")
)
_NAME_PART = re.compile(r"[A-Za-z]+")
_BLOCKS = frozenset(
    {
        *("address", "article", "blockquote", "body", "br", "caption", "center", "dd", "details"),
        *("dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "form", "h1", "h2", "h3"),
        *("h4", "h5", "h6", "header", "hgroup", "hr", "legend", "li", "main", "ol", "p", "pre"),
        *("section", "summary", "table", "tbody", "tfoot", "thead", "tr", "ul", "option"),
    }
)
_APART = frozenset({"a", "button", "label", "summary"})
_CELLS = frozenset({"td", "th"})
_HEADINGS = "h1,h2,h3,h4"
_SPACES = re.compile(r"\s+")
_LINES = re.compile(r"\n{3,}")
_TEXT = "-text"
# Maximum delay of a redirect by the page; a page with a longer one is meant to be read.
_MOST_DELAY_S = 10
_REFRESH = re.compile(
    r"\s*(?=[\d.])(\d*+)[\d.]*+(?![^;,\s])\s*[;,]?\s*(?:url\s*=\s*)?(.*)", re.IGNORECASE | re.DOTALL
)
_NOT_FOLLOWED = ("noscript", "template", "svg", "math")
# Class names in DuckDuckGo's page for browsers without scripts.
_RESULT_TITLE, _RESULT_SNIPPET, _ADVERTISED = "result__a", "result__snippet", "result--ad"
_MOST_RESULTS = 100


def main() -> None:
    sys.stdin.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    order = json.loads(sys.stdin.readline())
    sys.stdout.write(json.dumps(read(sys.stdin.read(), order)))


def read(html: str, order: dict[str, Any]) -> dict[str, Any]:
    """Return the page's metadata, and what `order` requests.

    Args:
        order: `mode` is markdown, text, links, structured or results; `url` is the page's address;
            `max_chars` and `max_links` limit texts and links.

    Returns:
        title, description, canonical, language, leads_to; mode links adds `links`; other modes
            `text` and its full `length`; structured has both, and `headings`. Mode results returns
            only `results`: `title`, `href` and `snippet` of each.
    """
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(html)
    mode = order["mode"]
    if mode == "results":
        return {"results": _results(tree)}
    base = _base(tree, order["url"])
    answer = _about(tree, base)
    if mode in ("links", "structured"):
        answer["links"] = list(_links(tree, base, order["max_links"]))
    if mode == "links":
        return answer
    if mode == "structured":
        answer["headings"] = _headings(tree)
    content = _content(tree)
    if content is None:
        text = ""
    elif mode == "markdown":
        text = _markdown(content, base)
    else:
        text = _plain(content)
    return answer | {"text": text[: order["max_chars"]], "length": len(text)}


def _about(tree: LexborHTMLParser, base: str) -> dict[str, Any]:
    title = tree.css_first("title")
    heading = tree.css_first("h1")
    found = next((_words(node) for node in (title, heading) if node and _words(node)), "")
    description = _attribute(tree, "meta[name=description i]", "content") or _attribute(
        tree, "meta[property='og:description']", "content"
    )
    canonical = _attribute(tree, "link[rel=canonical i]", "href")
    return {
        "title": found[:500],
        "description": _SPACES.sub(" ", description).strip()[:1000],
        "canonical": (_joined(base, canonical) or "") if canonical else "",
        "language": _attribute(tree, "html", "lang").strip()[:40],
        "leads_to": _leads_to(tree, base),
    }


def _leads_to(tree: LexborHTMLParser, base: str) -> str:
    """Return the page's redirect target, or an empty text."""
    for node in tree.css("meta[http-equiv]"):
        kind = (node.attributes.get("http-equiv") or "").strip().lower()
        if kind != "refresh" or _is_inside(node, _NOT_FOLLOWED):
            continue
        said = _REFRESH.match((node.attributes.get("content") or "")[:4000])
        if said is None or int(said[1] or 0) > _MOST_DELAY_S:
            return ""
        target = said[2].strip().strip("\"'").strip()
        url = _joined(base, target) if target else None
        return urldefrag(url).url if url is not None and url.startswith("http") else ""
    return ""


def _results(tree: LexborHTMLParser) -> list[dict[str, str]]:
    """Return the entries of a search result page in order, without ads."""
    results: list[dict[str, str]] = []
    for node in tree.css(f".{_RESULT_TITLE},.{_RESULT_SNIPPET}"):
        if _is_advertised(node):
            continue
        classes = (node.attributes.get("class") or "").split()
        if _RESULT_TITLE in classes:
            href = node.attributes.get("href") or ""
            results.append({"title": _words(node), "href": href, "snippet": ""})
        elif results:
            results[-1]["snippet"] = results[-1]["snippet"] or _words(node)
        if len(results) > _MOST_RESULTS:
            break
    return results[:_MOST_RESULTS]


def _is_advertised(node: LexborNode) -> bool:
    parent = node.parent
    while parent is not None:
        if _ADVERTISED in (parent.attributes.get("class") or "").split():
            return True
        parent = parent.parent
    return False


def _attribute(tree: LexborHTMLParser, selector: str, name: str) -> str:
    node = tree.css_first(selector)
    return "" if node is None else node.attributes.get(name) or ""


def _base(tree: LexborHTMLParser, url: str) -> str:
    return _joined(url, _attribute(tree, "base[href]", "href")) or url


def _joined(base: str, href: str) -> str | None:
    """Return the absolute address of a link; None if invalid."""
    href = href.strip()
    try:
        url = urljoin(base, href)
        parts = urlsplit(url)
    except ValueError:
        return None
    if parts.scheme in ("http", "https"):
        return url if parts.netloc else None
    return url if parts.scheme in ("mailto", "tel", "ftp") else None


def _links(tree: LexborHTMLParser, base: str, most: int) -> Iterator[dict[str, str]]:
    """Yield links in order, without duplicates and links within the page."""
    found: dict[str, str] = {}
    for node in tree.css("a[href]"):
        href = (node.attributes.get("href") or "").strip()
        if not href or href.startswith("#"):
            continue
        url = _joined(base, href)
        if url is None or (found.get(url) == "" and not _words(node)):
            continue
        if url not in found and len(found) >= most:
            break
        found[url] = found.get(url) or _link_text(node)
    for url, text in found.items():
        yield {"text": text, "href": url}


def _link_text(node: LexborNode) -> str:
    text = _words(node)
    if not text:
        image = node.css_first("img[alt]")
        text = (node.attributes.get("title") or node.attributes.get("aria-label") or "") or (
            "" if image is None else image.attributes.get("alt") or ""
        )
    return _SPACES.sub(" ", text).strip()[:200]


def _headings(tree: LexborHTMLParser) -> list[dict[str, Any]]:
    return [
        {"level": int(str(node.tag)[1]), "text": _words(node).rstrip("¶#").strip()[:200]}
        for node in tree.css(_HEADINGS)[:100]
        if _words(node)
    ]


def _words(node: LexborNode) -> str:
    return _SPACES.sub(" ", node.text_lexbor()).strip()


def _content(tree: LexborHTMLParser) -> LexborNode | None:
    """Return the main content, without what all pages of the site repeat."""
    body = tree.body
    if body is None:
        return None
    for node in _inner_first(body, _NEVER):
        node.decompose()
    whole = len(_words(body))
    _prune(body, whole)
    left = len(_words(body))
    for selector in _CONTENT:
        found = body.css(selector)
        best = max(found, key=lambda node: len(node.text_lexbor()), default=None)
        if best is not None and len(_words(best)) * 3 >= left:
            return best
    return _densest(body)


def _prune(body: LexborNode, whole: int) -> None:
    """Remove boilerplate, unless it is most of the page."""
    rules: tuple[tuple[str, Callable[[LexborNode], bool]], ...] = (
        (_AROUND, lambda _: True),
        ("header", _is_page_header),
        ("[style]", lambda node: bool(_UNSEEN.search(node.attributes.get("style") or ""))),
        (_NAMED, _is_aside),
        ("a[href^='#']", _is_mark),
    )
    for selector, goes in rules:
        for node in _inner_first(body, selector):
            if goes(node) and not _holds_content(node, whole):
                node.decompose()


def _inner_first(body: LexborNode, selector: str) -> list[LexborNode]:
    """Return the matches, innermost first, so that none is used after its parent is removed."""
    return body.css(selector)[::-1]


def _is_aside(node: LexborNode) -> bool:
    named = f"{node.attributes.get('class') or ''} {node.attributes.get('id') or ''}"
    parts = {part.lower() for part in _NAME_PART.findall(named)}
    if parts & _ASIDE:
        return True
    linked = sum(len(_words(link)) for link in node.css("a")) if parts & _LINE_OF_LINKS else 0
    return linked * 5 > len(_words(node)) * 2 > 0


def _is_page_header(node: LexborNode) -> bool:
    return not _is_inside(node, ("article", "main")) and node.css_first("h1") is None


def _is_mark(node: LexborNode) -> bool:
    """Return whether a node is the permalink sign next to a heading."""
    text = _words(node)
    return text.lower() == "permalink" or not any(letter.isalnum() for letter in text)


def _holds_content(node: LexborNode, whole: int) -> bool:
    if node.css_first("main,article,[role=main]") is not None:
        return True
    return len(_words(node)) * 2 > whole


def _is_inside(node: LexborNode, tags: tuple[str, ...]) -> bool:
    parent = node.parent
    while parent is not None:
        if parent.tag in tags:
            return True
        parent = parent.parent
    return False


def _densest(body: LexborNode) -> LexborNode:
    """Return the smallest part of the page with nearly all of its text outside links.

    Starts at the highest density of paragraphs and grows outward; what is around it are links.
    """
    scores: dict[int, float] = {}
    nodes: dict[int, LexborNode] = {}
    for node in body.css("p,pre,blockquote,dd,td,li"):
        worth, share = _unlinked(node), 1.0
        parent = node.parent
        while worth >= 25 and parent is not None and share > 0.2 and parent.tag != "html":
            scores[parent.mem_id] = scores.get(parent.mem_id, 0) + worth * share
            nodes[parent.mem_id] = parent
            parent, share = parent.parent, share / 2
    if not scores:
        return body
    best = nodes[max(scores, key=lambda key: scores[key])]
    total = _unlinked(body)
    has_headings = body.css_first(_HEADINGS) is not None
    while best.tag != "body" and best.parent is not None:
        enough = _unlinked(best) * 10 >= total * 9
        if enough and (not has_headings or best.css_first(_HEADINGS) is not None):
            break
        best = best.parent
    return best


def _unlinked(node: LexborNode) -> int:
    """Return the number of letters outside links."""
    return len(_words(node)) - sum(len(_words(link)) for link in node.css("a"))


def _markdown(content: LexborNode, base: str) -> str:
    from html_to_markdown import ConversionOptions, convert

    for node in content.css("a[href],img[src]"):
        name = "href" if node.tag == "a" else "src"
        url = _joined(base, node.attributes.get(name) or "")
        if url is not None:
            node.attrs[name] = url
        elif name == "href":
            del node.attrs[name]
        else:
            node.decompose()
    plain = _plain(content)
    converted = convert(content.html or "", ConversionOptions(extract_metadata=False))
    # The converter drops parts nested too deeply for it.
    if _letters(converted.content or "") * 2 < _letters(plain):
        return plain
    return _LINES.sub("\n\n", converted.content or "").strip().removeprefix("---").lstrip()


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))


def _plain(content: LexborNode) -> str:
    """Return the text, one line per block; tabs separate the cells of a row.

    Adjacent links without a space are a list, one line each.
    """
    lines: list[str] = []
    line: list[str] = []

    def end() -> None:
        text = _SPACES.sub(" ", "".join(line).replace("\t", "\0")).replace("\0", "\t").strip()
        line.clear()
        if text:
            lines.append(text)

    left = ""
    for node, leaving in _walk(content):
        if not leaving and node.tag == left and left in _APART:
            end()
        left = str(node.tag) if leaving else ""
        if node.tag == _TEXT:
            line.append(_SPACES.sub(" ", node.text_lexbor()))
        elif node.tag == "pre":
            end()
            if not leaving:
                lines.append(node.text_lexbor().strip("\n").rstrip())
        elif node.tag in _BLOCKS:
            end()
        elif node.tag in _CELLS and leaving:
            line.append("\t")
    end()
    return "\n".join(text for text in lines if text)


def _walk(root: LexborNode) -> Iterator[tuple[LexborNode, bool]]:
    """Yield each node on entry, and each element on exit; does not enter `pre`."""
    waiting = [(root, False)]
    while waiting:
        node, leaving = waiting.pop()
        yield node, leaving
        if leaving or node.tag == _TEXT:
            continue
        waiting.append((node, True))
        child = None if node.tag == "pre" else node.last_child
        while child is not None:
            waiting.append((child, False))
            child = child.prev


if __name__ == "__main__":
    main()
