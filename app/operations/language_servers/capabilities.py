"""Client capabilities sent to a server."""

from __future__ import annotations

from typing import Any

from app.core.language_servers import LanguageServerSettings


def initialize_params(settings: LanguageServerSettings, root_uri: str) -> dict[str, Any]:
    """Return the parameters of `initialize`."""
    return {
        # Not ours: a server that monitors its parent would see another process in the sandbox.
        "processId": None,
        "clientInfo": {"name": "tollgate"},
        "rootUri": root_uri,
        "workspaceFolders": [{"uri": root_uri, "name": "workspace"}],
        "initializationOptions": settings.initialization_options,
        "capabilities": {
            "general": {"positionEncodings": ["utf-32", "utf-8", "utf-16"]},
            "textDocument": _TEXT_DOCUMENT,
            "workspace": {
                "configuration": True,
                "workspaceFolders": True,
                "symbol": {},
                "didChangeWatchedFiles": {"dynamicRegistration": True},
            },
            "window": {"workDoneProgress": True},
        },
    }


_TEXT_DOCUMENT: dict[str, Any] = {
    "synchronization": {},
    "definition": {"linkSupport": True},
    "implementation": {"linkSupport": True},
    "references": {},
    "callHierarchy": {},
    "hover": {"contentFormat": ["markdown", "plaintext"]},
    "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
    "diagnostic": {},
    "publishDiagnostics": {"versionSupport": True},
    "codeAction": {
        "codeActionLiteralSupport": {
            "codeActionKind": {"valueSet": ["quickfix", "refactor", "source"]}
        }
    },
}
