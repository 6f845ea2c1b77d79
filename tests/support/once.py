"""Expensive work that is equal for every service, done once per test process.

It covers the metadata of all packages, the built-in skills, the machine's certificates, and the
commands of `tollgate`.
"""

from __future__ import annotations

import os
import ssl
import sys
from functools import cache
from importlib.metadata import EntryPoints, entry_points
from typing import Any

import httpcore2
import typer.main

from app.knowledge.skills.document import read_document

_trusting = httpcore2.default_ssl_context


def replacements() -> dict[str, Any]:
    """Return replacements by the full name of the replaced object."""
    return {
        "app.catalog.plugin_sources.entry_points": _entry_points,
        "app.execution.hooks.plugins.entry_points": _entry_points,
        "app.knowledge.skills.finder.read_document": cache(read_document),
        "httpcore2.default_ssl_context": _default_ssl_context,
        "typer.main.get_command": cache(typer.main.get_command),
    }


def _entry_points(*, group: str) -> EntryPoints:
    """Return the cached value while the module path is unchanged."""
    return _found(group, tuple(sys.path))


@cache
def _found(group: str, _path: tuple[str, ...]) -> EntryPoints:
    return entry_points(group=group)


def _default_ssl_context(*, _trust_env: bool = True) -> ssl.SSLContext:
    """Return the cached value while the certificates are unchanged."""
    named = (os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    return _context(_trust_env, named)


@cache
def _context(trust_env: bool, _named: tuple[str | None, ...]) -> ssl.SSLContext:  # noqa: FBT001
    return _trusting(_trust_env=trust_env)
