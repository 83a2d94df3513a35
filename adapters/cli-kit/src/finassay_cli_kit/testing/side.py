"""What programs ask a model for themselves: a title, a choice of model, whether a command is safe."""

import json
from collections.abc import Mapping
from typing import Any

from finassay_cli_kit.testing.request import ModelRequest
from finassay_cli_kit.testing.wires import as_object


def asks_for_itself(request: ModelRequest, had_tools: bool) -> bool:
    """Whether a request is the program's own: it wants JSON of a given shape, or offers no tools though the conversation has them."""
    return not request.tools and (had_tools or wanted(request) is not None)


def wanted(request: ModelRequest) -> Mapping[str, Any] | None:
    """The JSON schema that the answer must follow, if the request has one."""
    body = request.body
    match request.wire:
        case "anthropic":
            form = as_object(as_object(body.get("output_config")).get("format")) or as_object(body.get("output_format"))
            schema = form.get("schema")
        case "openai-chat":
            schema = as_object(as_object(body.get("response_format")).get("json_schema")).get("schema")
        case "openai-responses":
            schema = as_object(as_object(body.get("text")).get("format")).get("schema")
        case "google":
            config = as_object(body.get("generationConfig"))
            schema = config.get("responseJsonSchema") or config.get("responseSchema")
    return schema if isinstance(schema, Mapping) else None


def structured(request: ModelRequest) -> str:
    """The smallest answer: an instance of the schema, or one word."""
    schema = wanted(request)
    return "Scripted" if schema is None else json.dumps(instance(schema))


def instance(schema: Mapping[str, Any]) -> Any:
    """Something that a JSON schema allows; the first choice wherever there are several."""
    for word in ("const", "default"):
        if word in schema:
            return schema[word]
    if schema.get("enum"):
        return schema["enum"][0]
    for word in ("anyOf", "oneOf", "allOf"):
        if schema.get(word):
            return instance(as_object(schema[word][0]))
    kind = schema.get("type")
    kind = str(kind[0] if isinstance(kind, list) and kind else kind).lower()
    if kind == "object" or "properties" in schema:
        properties = as_object(schema.get("properties"))
        return {name: instance(as_object(properties.get(name))) for name in schema.get("required") or properties}
    if kind == "array":
        return [instance(as_object(schema.get("items"))) for _ in range(int(schema.get("minItems", 0)))]
    if kind in ("integer", "number"):
        return schema.get("minimum", 1)
    return {"boolean": False, "null": None}.get(kind, "scripted")
