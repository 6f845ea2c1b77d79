"""Requests in program texts that ask a server to delete, like `curl -X DELETE`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import Answer, RuleMatch, ask
from app.policy.risk.code_secrets import SENDS
from app.policy.risk.model import RiskLevel

_METHOD = re.compile(r"(['\"`])delete\1", re.IGNORECASE)
"""The method's name as a whole text: an option, an argument or a variable's value."""
_CLIENTS = (
    r"axios|got|superagent|ky|needle|request|undici|wretch|unirest|bent|phin|"
    r"HTTParty|Faraday|RestClient|Typhoeus|Excon|HTTP|HTTPoison|Tesla|Req|Http|Requests"
)
_DELETES = r"(?<!\s)\s*+(?:\.|->|::)\s*+del(?:ete)?\b"
_BY_CLIENT = re.compile(
    # Its argument is an address, or its object is a client.
    rf"\bdelete\s*:\s*\w+[^}}]{{0,200}}\}}\s*=\s*[^;\n]{{0,80}}\b(?:{_CLIENTS})\b|"
    rf"{_DELETES}!?\s*\(?\s*[fF]?['\"`](?:https?:)?//"
    rf"|\b(?:{_CLIENTS})\b(?:['\"`]\s*\))?[^;\n]{{0,200}}?{_DELETES}"
    r"|\bNet::HTTP::Delete\b|:delete\b|\bDELETE\s*(?:=>|\(|['\"])|\.DELETE\(\)|\bDeleteAsync\s*\("
    r"|\bhttp\.MethodDelete\b|\bHttpMethod\.(?:DELETE|Delete)\b|\bMethod::DELETE\b"
)
_HTTP_OBJECT = re.compile(
    r"\bNet::HTTP\b|\bHTTP::Tiny\b|\bLWP::UserAgent\b|\bMojo::UserAgent\b|\bGuzzleHttp\b"
)
_OF_OBJECT = re.compile(rf"{_DELETES}\s*\(?\s*(?:['\"`]/|\$|\()")
_HELD = re.compile(
    rf"\b(?:const|let|var|import)\s+(?:\*\s+as\s+)?(?P<name>\w+)\s*(?:=|\bfrom\b)[^;\n]{{0,80}}?\b(?:{_CLIENTS})\b"
)
_NAMED = re.compile(rf"\b(?P<name>\w++){_DELETES}")
_MARK = re.compile(r"delete|\bdel\b", re.IGNORECASE)


def deletes_by_request(language: str, text: str) -> Iterator[Answer]:
    """Ask about a program that sends a deleting request."""
    if not _MARK.search(text):
        return
    near = bool(_BY_CLIENT.search(text)) and (
        SENDS.search(text) is not None or "://" in text or language in {"R", "go", "rust"}
    )
    if near or _by_method(text) or _by_object(text):
        yield http_delete(f"{language} code asks a server to delete")


def http_delete(why: str) -> RuleMatch:
    """Return the finding, which does not apply to files that a command runs: whole programs and
    tests have such calls.
    """
    return ask("http_delete", why, RiskLevel.MEDIUM)._replace(vague=True)


def _by_method(text: str) -> bool:
    return _METHOD.search(text) is not None and SENDS.search(text) is not None


def _by_object(text: str) -> bool:
    """Return whether it is a method of a client held in a variable."""
    if _HTTP_OBJECT.search(text) and _OF_OBJECT.search(text):
        return True
    names = {found["name"] for found in _HELD.finditer(text)}
    return any(found["name"] in names for found in _NAMED.finditer(text))
