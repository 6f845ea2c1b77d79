"""What is taken out of a page, and what is left out."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.tools.web import page_program
from tests.tools.web.pages import ARTICLE


def read(
    html: str, mode: str = "text", url: str = "https://a.b/c/d", **order: Any
) -> dict[str, Any]:
    wanted = {"mode": mode, "url": url, "max_chars": 100_000, "max_links": 100, **order}
    return page_program.read(html, wanted)


@pytest.mark.parametrize(
    "around",
    [
        *("<nav>N</nav>", "<aside>N</aside>", "<footer>N</footer>", "<header>N</header>"),
        *("<script>N</script>", "<style>N</style>", "<noscript>N</noscript>"),
        *("<template>N</template>", "<svg><text>N</text></svg>", "<iframe>N</iframe>"),
        *("<div hidden>N</div>", "<div aria-hidden=true>N</div>", "<p style='DISPLAY:none'>N</p>"),
        *("<div role=navigation>N</div>", "<div class=sidebar>N</div>", "<div id=nav-bar>N</div>"),
        *("<button>N</button>", "<select><option>N</select>", "<dialog>N</dialog>"),
        *("<!-- N -->", "<div class='page-header'><a href=/>N</a></div>"),
    ],
)
def test_what_stands_around_the_content_is_left_out(around: str):
    html = f"<body>{around}<h1>Title</h1><p>{ARTICLE}</p>{around}</body>"
    assert read(html)["text"] == f"Title\n{ARTICLE}"


@pytest.mark.parametrize(
    "content",
    [
        "<article><header><h1>Title</h1></header><p>{}</p></article>",
        "<header><h1>Title</h1></header><div><p>{}</p></div>",
        "<div class=sidebar-layout><main><h1>Title</h1><p>{}</p></main></div>",
        "<div class='nav'><h1>Title</h1><p>{}</p></div>",
        "<table><tr><td><h1>Title</h1><p>{}</p></table>",
        "<div><h1>Title</h1><div><div><p>{}</p></div></div></div>",
    ],
)
def test_the_content_is_kept_whatever_it_stands_in(content: str):
    html = content.format(ARTICLE)
    assert read(f"<body><nav>Menu</nav>{html}")["text"] == f"Title\n{ARTICLE}"


def test_lines_are_blocks_and_words_stay_whole():
    html = "<p>a<b>b</b>c <i>d</i>\n e<br>f</p><dl><dt>t<dd>d</dl><pre>x\n  y\n</pre>&amp;&nbsp;z"
    assert read(html)["text"].split("\n") == ["abc d e", "f", "t", "d", "x", "  y", "& z"]


def test_an_address_is_resolved_or_left_out():
    html = (
        "<base href='//x.y/z/'><a href=a>1</a><a href='?q'>2</a><a href='//h/p'>3</a>"
        "<a href='http://['>4</a><a href='data:x'>5</a><a href=' #x '>6</a><a>7</a>"
        "<a href=a></a><a href=e><img alt='the  picture'></a><a href='JavaScript:x'>8</a>"
    )
    assert read(html, "links")["links"] == [
        {"text": "1", "href": "https://x.y/z/a"},
        {"text": "2", "href": "https://x.y/z/?q"},
        {"text": "3", "href": "https://h/p"},
        {"text": "the picture", "href": "https://x.y/z/e"},
    ]
    assert len(read(html, "links", max_links=2)["links"]) == 2


def test_a_title_is_looked_for_in_the_heading_too():
    assert read("<h1>Only <i>this</i></h1>")["title"] == "Only this"
    assert read("<p>x")["title"] == ""


@pytest.mark.parametrize(
    "html",
    [
        *("", " ", "<", "<!doctype html>", "<html><head></head></html>", "\0", "<frameset><frame>"),
        *("<div>" * 3000 + "x", "<ul><li>" * 2000 + "x", "<b>" * 3000 + "<p>x", "<table>" * 500),
        *("<svg><script><style><noscript>" * 20, "<p " + "a=1 " * 2000 + ">x", "&#xD800;&#0;x"),
        "<main><nav><aside><main><footer>x",
    ],
)
@pytest.mark.parametrize("mode", ["text", "markdown", "links", "structured"])
def test_a_strange_page_is_read(html: str, mode: str):
    answer = read(html, mode)
    assert json.dumps(answer)
    if html.endswith("x") and mode in ("text", "markdown"):
        assert "x" in answer["text"]


TAGS = st.sampled_from(
    [
        *("<div class=nav>", "</div>", "<p>", "<nav>", "</nav>", "<main>", "</main>", "<a href=x>"),
        *(
            "</a>",
            "<td>",
            "<table>",
            "<svg>",
            "<template>",
            "<header>",
            "<h1>",
            "text",
            "<p hidden>",
        ),
        *("<script>", "</script>", "<pre>", "<select>", "<noscript>", "<b>", "</b>", "<!--", "-->"),
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(TAGS, max_size=40))
def test_any_page_is_read(parts: list[str]):
    for mode in ("markdown", "structured"):
        assert read("".join(parts), mode)["length"] >= 0


def test_the_program_reads_an_order_and_a_page():
    order = {"mode": "text", "url": "http://a.b/", "max_chars": 3, "max_links": 1}
    done = subprocess.run(
        [sys.executable, "-I", page_program.__file__],
        input=json.dumps(order).encode() + b"\n<p>h\xc3\xa9llo\r\nthere\xff",
        capture_output=True,
        check=True,
    )
    answer = json.loads(done.stdout)
    assert (answer["text"], answer["length"]) == ("hél", 12)


REFRESH = '<meta http-equiv="{}" content="{}">'
LEADS_ON = REFRESH.format("refresh", "0;url=/x")


@pytest.mark.parametrize(
    ("head", "target"),
    [
        (LEADS_ON, "https://a.b/x"),
        (REFRESH.format(" ReFresh ", " 10 , URL = 'y#z' "), "https://a.b/c/y"),
        (REFRESH.format("refresh", ".5 //e.f/g?a=1&amp;b=2"), "https://e.f/g?a=1&b=2"),
        (f"<base href=/docs/>{REFRESH.format('refresh', '0;url=x')}", "https://a.b/docs/x"),
        ("<meta/http-equiv=refresh content=1;/x>", "https://a.b/x"),
        *(
            (REFRESH.format("refresh", said), "")
            for said in ("0", "11;url=/x", "url=/x", "0/x", "")
        ),
        *(
            (REFRESH.format("refresh", f"0;url={url}"), "")
            for url in ("mailto:a", "http://", "//[")
        ),
        (REFRESH.format("refresh", "9" * 4000 + ";url=/x"), ""),
        (REFRESH.format("refresh", "60;url=/x") + LEADS_ON, ""),
        *(
            (hidden.format(LEADS_ON), "")
            for hidden in (
                *("<!-- {} -->", "<script>{}</script>", "<noscript>{}</noscript>"),
                *("<style>{}</style>", "<title>{}</title>", "<textarea>{}</textarea>"),
                *("<template>{}</template>", "<xmp>{}</xmp>", "<p data-text='{}'>"),
                "<iframe srcdoc='{}'></iframe>",
            )
        ),
    ],
)
def test_where_a_page_leads_is_reported_as_a_browser_goes(head: str, target: str):
    assert read(f"<html>{head}<p>text")["leads_to"] == target
