"""Conversion of raw arguments to canonical JSON bytes, which are validated, hashed and shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from app.catalog.catalog import CatalogEntry
from app.core.errors import InvalidArguments
from app.core.field_problems import problem
from app.execution.coercion import coerced
from app.toolkit.schema import invalid_arguments

MAX_ARGUMENT_BYTES = 8 << 20
MAX_ARGUMENTS = 1000
_PROJECT = "project_id"


@dataclass(slots=True)
class PreparedArguments:
    """Arguments of a tool: as an object, as sorted JSON bytes, and validated."""

    raw: dict[str, Any]
    canonical: bytes
    validated: Any


def parse_object(arguments: dict[str, Any] | str | None) -> dict[str, Any]:
    """Return the arguments object; JSON text is parsed, even if encoded twice.

    Null becomes an empty object.

    Raises:
        InvalidArguments: the value is not JSON, or not an object.
    """
    value: Any = arguments
    for _ in range(2):
        if not isinstance(value, str):
            break
        try:
            value = orjson.loads(value) if value.strip() else {}
        except (orjson.JSONDecodeError, UnicodeEncodeError) as error:
            raise InvalidArguments(
                f"Invalid JSON arguments: {error}; send one JSON object",
                errors=[problem("arguments", str(error), "json_invalid")],
            ) from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise invalid_arguments([problem("arguments", "must be a JSON object", "object_type")])
    return value


def prepare(
    entry: CatalogEntry, arguments: dict[str, Any] | str, *, project_id: str | None = None
) -> PreparedArguments:
    """Adapt an alias's arguments, rename known synonyms, coerce and validate.

    Args:
        project_id: project of the call.

    Raises:
        InvalidArguments: lists every problem with its path.
    """
    raw = parse_object(arguments)
    if entry.alias is not None and entry.alias.adapt is not None:
        given = {key: value for key, value in raw.items() if value is not None}
        raw = entry.alias.adapt(coerced(given, entry.tool.parameters))
    if len(raw) > MAX_ARGUMENTS:
        message = f"{len(raw)} arguments; at most {MAX_ARGUMENTS} are checked"
        named = {"max_length": MAX_ARGUMENTS}
        raise invalid_arguments([problem("arguments", message, "too_many", named)])
    names = entry.tool.argument_aliases
    if names and not names.keys().isdisjoint(raw):
        raw = _rename(raw, names)
    if _PROJECT in raw and _PROJECT not in entry.tool.parameters.get("properties", {}):
        raw = _in_its_project(raw, project_id)
    return validate(entry, raw)


def validate(entry: CatalogEntry, raw: dict[str, Any]) -> PreparedArguments:
    """Validate an arguments object; if invalid, coerce it and validate again.

    Policy, comparison of equal calls and events all use the arguments that the tool receives.

    Raises:
        InvalidArguments: see `prepare`.
    """
    canonical = canonical_json(raw)
    try:
        return PreparedArguments(raw, canonical, entry.tool.validate(canonical))
    except InvalidArguments:
        changed = coerced(raw, entry.tool.parameters)
        again = canonical_json(changed)
        if again == canonical:
            raise
    return PreparedArguments(changed, again, entry.tool.validate(again))


def canonical_json(value: Any) -> bytes:
    """Return sorted, compact JSON bytes; equal values give equal bytes.

    Raises:
        InvalidArguments: the value contains something other than JSON, or is too large.
    """
    try:
        encoded = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (orjson.JSONEncodeError, UnicodeEncodeError) as error:
        raise invalid_arguments(
            [problem("arguments", f"not valid JSON: {error}", "json_invalid")]
        ) from None
    if len(encoded) > MAX_ARGUMENT_BYTES:
        message = f"larger than {MAX_ARGUMENT_BYTES} bytes"
        named = {"max_length": MAX_ARGUMENT_BYTES}
        raise invalid_arguments([problem("arguments", message, "too_large", named)])
    return encoded


def _rename(raw: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Rename synonyms; a synonym next to the proper name stays and fails validation.

    Synonyms with a null value are dropped.
    """
    renamed: dict[str, Any] = {}
    for key, value in raw.items():
        proper = names.get(key, key)
        if value is None and proper in raw and proper != key:
            continue
        renamed[key if proper in raw and proper != key else proper] = value
    return renamed


def _in_its_project(raw: dict[str, Any], project_id: str | None) -> dict[str, Any]:
    """Remove the argument that names the call's own project.

    Arguments never select the project of a call.
    """
    if project_id is None or raw[_PROJECT] not in (project_id, None):
        where = "no project" if project_id is None else f"the project {project_id!r}"
        message = f"the call uses {where}; omit project_id from the arguments"
        raise invalid_arguments([problem(_PROJECT, message, "extra_forbidden")])
    return {key: value for key, value in raw.items() if key != _PROJECT}
