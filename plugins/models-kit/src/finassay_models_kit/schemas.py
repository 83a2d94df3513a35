"""Fitting a JSON Schema to what a vendor's structured output takes, and what came back to the schema that was asked for."""

import json
from collections.abc import Mapping
from typing import Any, Final

from finassay.api.verdict import Json

Schema = Mapping[str, Any]

_MAPS: Final = ("properties", "$defs", "definitions", "patternProperties")
_LISTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE: Final = ("items", "additionalProperties", "not", "if", "then", "else")
_STRICT: Final = frozenset(
    {
        *("type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "$ref", "$defs", "definitions"),
        *("description", "title", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minItems", "maxItems"),
    }
)


def children(schema: Schema) -> list[Schema]:
    """The schemas directly inside a schema."""
    inside: list[Any] = []
    for name in _MAPS:
        if isinstance(schema.get(name), Mapping):
            inside += schema[name].values()
    for name in _LISTS:
        if isinstance(schema.get(name), list):
            inside += schema[name]
    inside += [schema[name] for name in _SINGLE if name in schema]
    return [child for child in inside if isinstance(child, Mapping)]


def is_open(schema: Schema) -> bool:
    """Whether somewhere in it an object may have keys that the schema does not list, or a value of no stated type.

    Vendors close objects and demand types, which would forbid what the caller wants.
    """
    if _is_object(schema) and (schema.get("additionalProperties") not in (None, False) or "patternProperties" in schema):
        return True
    if _is_object(schema) and not schema.get("properties") and schema.get("additionalProperties") is not False:
        return True
    if not any(name in schema for name in ("type", "properties", "enum", "const", "$ref", *_LISTS)):
        return True
    if schema.get("type") == "array" and "items" not in schema and "prefixItems" not in schema:
        return True
    return any(is_open(child) for child in children({k: v for k, v in schema.items() if k != "additionalProperties"}))


def strict_form(schema: Schema) -> dict[str, Any] | None:
    """The schema as strict structured output takes it: every object closed, every property required, an optional one nullable instead.

    None where the schema cannot be put so. What came back is undone with `without_added_nulls`.
    """
    if is_open(schema) or _uses(schema, frozenset({"allOf", "not", "if", "patternProperties", "prefixItems", "dependentRequired"})):
        return None
    return _strict(schema)


def _strict(schema: Schema) -> dict[str, Any]:
    made: dict[str, Any] = {name: value for name, value in schema.items() if name in _STRICT}
    lost = {name: value for name, value in schema.items() if name not in _STRICT and name in ("minLength", "maxLength", "uniqueItems")}
    if "oneOf" in schema:
        made["anyOf"] = schema["oneOf"]
    if "anyOf" in made:
        made["anyOf"] = [_strict(variant) for variant in made["anyOf"]]
    for name in ("$defs", "definitions"):
        if name in made:
            made[name] = {key: _strict(value) for key, value in made[name].items()}
    if isinstance(made.get("items"), Mapping):
        made["items"] = _strict(made["items"])
    if _is_object(schema):
        properties = schema.get("properties", {})
        required = schema.get("required", ())
        made["type"] = schema.get("type", "object")
        made["properties"] = {k: _strict(v) if k in required else _or_null(_strict(v)) for k, v in properties.items()}
        made["required"] = list(properties)
        made["additionalProperties"] = False
    if lost:
        told = ", ".join(f"{name} {json.dumps(value)}" for name, value in sorted(lost.items()))
        made["description"] = f"{made.get('description', '')} ({told})".strip()
    return made


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    kind = schema.get("type")
    if isinstance(kind, str) and kind != "null" and "enum" not in schema and "const" not in schema:
        return {**schema, "type": [kind, "null"]}
    if isinstance(kind, list) and "enum" not in schema:
        return {**schema, "type": kind if "null" in kind else [*kind, "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def without_added_nulls(value: Json, schema: Schema, root: Schema | None = None, depth: int = 0) -> Json:
    """The value without the nulls that stand for optional properties which `strict_form` had to require."""
    root = schema if root is None else root
    if depth > 200:
        return value
    schema = _resolved(schema, root)
    if isinstance(value, list):
        items = schema.get("items")
        return [without_added_nulls(v, items, root, depth + 1) for v in value] if isinstance(items, Mapping) else value
    if not isinstance(value, dict):
        return value
    if "properties" not in schema:
        variants = [_resolved(v, root) for v in (*schema.get("anyOf", ()), *schema.get("oneOf", ())) if isinstance(v, Mapping)]
        fitting = [v for v in variants if "properties" in v and set(value) <= set(v["properties"]) and _consts_fit(value, v)]
        return without_added_nulls(value, fitting[0], root, depth + 1) if fitting else value
    required = schema.get("required", ())
    kept: dict[str, Json] = {}
    for key, inner in value.items():
        known = schema["properties"].get(key)
        if inner is None and key not in required and isinstance(known, Mapping) and not _takes_null(_resolved(known, root), root):
            continue
        kept[key] = without_added_nulls(inner, known, root, depth + 1) if isinstance(known, Mapping) else inner
    return kept


def keeping(schema: Schema, keywords: frozenset[str]) -> dict[str, Any]:
    """The schema with only these keywords, at every level; `const` becomes an `enum`, `oneOf` an `anyOf`, where those are kept."""
    made: dict[str, Any] = {}
    for name, value in schema.items():
        if name == "const" and "const" not in keywords and "enum" in keywords:
            made["enum"] = [value]
        elif name == "oneOf" and "oneOf" not in keywords and "anyOf" in keywords:
            made["anyOf"] = [keeping(v, keywords) for v in value]
        elif name not in keywords:
            continue
        elif name in _MAPS:
            made[name] = {key: keeping(inner, keywords) if isinstance(inner, Mapping) else inner for key, inner in value.items()}
        elif name in _LISTS:
            made[name] = [keeping(inner, keywords) if isinstance(inner, Mapping) else inner for inner in value]
        elif name in _SINGLE and isinstance(value, Mapping):
            made[name] = keeping(value, keywords)
        else:
            made[name] = value
    return made


def instruction(schema: Schema) -> str:
    """What to tell a model that is not held to the schema by its provider."""
    text = json.dumps(schema, ensure_ascii=False, indent=1)
    return f"Answer with one JSON object and nothing else, no code fence. It must be valid under this JSON Schema:\n{text}"


def _is_object(schema: Schema) -> bool:
    kind = schema.get("type")
    return kind == "object" or (isinstance(kind, list) and "object" in kind) or "properties" in schema


def _uses(schema: Schema, keywords: frozenset[str]) -> bool:
    return any(name in keywords for name in schema) or any(_uses(child, keywords) for child in children(schema))


def _resolved(schema: Schema, root: Schema) -> Schema:
    for _ in range(20):
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return schema
        found: Any = root
        for step in reference[2:].split("/"):
            found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
        if not isinstance(found, Mapping):
            return {}
        schema = found
    return {}


def _takes_null(schema: Schema, root: Schema) -> bool:
    kind = schema.get("type")
    if kind == "null" or (isinstance(kind, list) and "null" in kind) or None in schema.get("enum", ()):
        return True
    variants = (*schema.get("anyOf", ()), *schema.get("oneOf", ()))
    return any(isinstance(v, Mapping) and _takes_null(_resolved(v, root), root) for v in variants)


def _consts_fit(value: Mapping[str, Json], schema: Schema) -> bool:
    return all(
        "const" not in inner or value.get(key) == inner["const"]
        for key, inner in schema["properties"].items()
        if isinstance(inner, Mapping)
    )
