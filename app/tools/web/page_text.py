"""Pages in the form for a model: the whole page is untrusted data."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from app.tools.untrusted import untrusted

UrlText = Annotated[str, Field(min_length=1, max_length=8000)]
"""An address as written by the caller; web access checks its target."""


def page_text(page: dict[str, Any]) -> str:
    """Return a fetched page, or why it was not fetched."""
    if "error" in page:
        return f"{page['url']}: not fetched: {page['error']}"
    lines = [f"URL: {page['final_url']}"]
    lines += [
        f"{name.title()}: {page[name]}" for name in ("title", "description") if page.get(name)
    ]
    if page["text"]:
        lines += ["", page["text"]]
    if page.get("links"):
        lines += ["", "Links:", *(f"- {link['text']} <{link['href']}>" for link in page["links"])]
    if "warning" in page:
        # It contains an address chosen by the page.
        lines += ["", f"({page['warning']}.)"]
    text = untrusted("\n".join(lines), page["final_url"])
    if page["truncated"]:
        text += f"\n(Truncated: {len(page['text'])} of {page['length']} characters.)"
    return text
