"""Neutral steps become calls of the tools that a request offers."""

import base64
import json
import posixpath
import re
import shlex
from collections.abc import Mapping
from typing import Any, Final

from attrs import frozen

from finassay_cli_kit.testing.request import ModelRequest, Tool
from finassay_cli_kit.testing.steps import Mcp, Shell, ToolStep, ToolUse, Use, WriteFile

SHELLS: Final = (
    "Bash",
    "exec_command",
    "run_shell_command",
    "shell_command",
    "shell",
    "local_shell",
    "Shell",
    "bash",
    "execute",
    "terminal",
    "run",
)
WRITERS: Final = ("Write", "write_file", "WriteFile", "create_file", "write", "create")
SEARCHES: Final = ("ToolSearch", "tool_search")
COMMAND_FIELDS: Final = ("command", "cmd", "script", "commandline", "commands")
PATH_FIELDS: Final = ("file_path", "path", "filename", "absolute_path", "file")
TEXT_FIELDS: Final = ("content", "contents", "text", "file_text", "data")


class NotOfferedError(Exception):
    """The request offers no tool for a step."""


@frozen
class Search:
    """The tool is offered on demand only: this call must come first, then the step again."""

    use: ToolUse


def call(step: ToolStep, request: ModelRequest, id: str) -> ToolUse | Search:
    """The call that does `step` with what `request` offers.

    Raises `NotOfferedError`.
    """
    match step:
        case Use(name, arguments, text):
            tool = request.tool(name)
            return ToolUse(id, name, arguments, text, tool.namespace if tool else "")
        case Shell(command):
            return _shell(command, request, id)
        case WriteFile(path, text):
            return _write(path, text, request, id)
        case Mcp():
            return _mcp(step, request, id)


def _shell(command: str, request: ModelRequest, id: str) -> ToolUse:
    if (tool := request.tool(*SHELLS)) is not None and (field := _field(tool, COMMAND_FIELDS)) is not None:
        listed = tool.schema.get("properties", {}).get(field, {}).get("type") == "array"
        value: Any = ["bash", "-lc", command] if listed else command
        return ToolUse(id, tool.name, _filled(tool, {field: value}), None, tool.namespace)
    if (tool := _code_mode(request)) is not None:
        return ToolUse(id, tool.name, {}, _script("exec_command", {"cmd": command}, "r.output ?? r"), tool.namespace)
    raise NotOfferedError(f"no shell tool among {_names(request)}")


def _write(path: str, text: str, request: ModelRequest, id: str) -> ToolUse:
    tool = request.tool(*WRITERS)
    if tool is not None and (where := _field(tool, PATH_FIELDS)) and (what := _field(tool, TEXT_FIELDS)):
        absolute = "absolute" in str(tool.schema["properties"][where].get("description", "")).lower()
        full = f"{request.cwd}/{path}" if absolute and request.cwd and not path.startswith("/") else path
        return ToolUse(id, tool.name, _filled(tool, {where: full, what: text}), None, tool.namespace)
    encoded = base64.b64encode(text.encode()).decode()
    folder = posixpath.dirname(path) or "."  # not by $(dirname ...): some programs refuse command substitution
    return _shell(f"mkdir -p -- {shlex.quote(folder)} && printf %s {encoded} | base64 -d > {shlex.quote(path)}", request, id)


def _mcp(step: Mcp, request: ModelRequest, id: str) -> ToolUse | Search:
    server, name = _word(step.server), _word(step.tool)
    whole = {f"mcp__{server}__{name}", f"mcp_{server}_{name}", f"{server}__{name}"}
    spaces = {f"mcp__{server}", f"mcp__{server}__", server}
    for offered in request.tools:
        word = _word(offered.name)
        if word in whole or (word == name and _word(offered.namespace) in spaces):
            return ToolUse(id, offered.name, step.arguments, None, offered.namespace)
    if (code := _code_mode(request)) is not None:
        return ToolUse(id, code.name, {}, _script(f"mcp__{server}__{name}", step.arguments, "r"), code.namespace)
    if (search := request.tool(*SEARCHES)) is not None:
        return Search(ToolUse(id, search.name, {"query": f"select:mcp__{step.server}__{step.tool}"}, None, search.namespace))
    if (plain := request.tool(step.tool)) is not None:
        return ToolUse(id, plain.name, step.arguments, None, plain.namespace)
    raise NotOfferedError(f"no tool {step.tool} of MCP server {step.server} among {_names(request)}")


def _code_mode(request: ModelRequest) -> Tool | None:
    """The tool that takes JavaScript and reaches every other one from there."""
    tool = request.tool("exec")
    return tool if tool is not None and tool.free_text else None


def _script(name: str, arguments: Mapping[str, Any], shown: str) -> str:
    return f"const r = await tools.{name}({json.dumps(dict(arguments))});\ntext({shown});\n"


def _field(tool: Tool, names: tuple[str, ...]) -> str | None:
    offered = tool.schema.get("properties", {})
    return next((name for name in names if name in offered), None)


def _filled(tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
    """`arguments` and something harmless for whatever else the tool insists on."""
    known = tool.schema.get("properties", {})
    for name in tool.schema.get("required") or ():
        if name not in arguments:
            arguments[name] = _harmless(known.get(name, {}))
    return arguments


def _harmless(schema: Mapping[str, Any]) -> Any:
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    return {"boolean": False, "integer": 1, "number": 1, "array": [], "object": {}}.get(str(kind), "scripted")


def _word(name: str) -> str:
    """A name as programs write it where only letters, digits and underscores are allowed."""
    return re.sub(r"[^A-Za-z0-9_]", "_", name)


def _names(request: ModelRequest) -> str:
    return ", ".join(tool.name for tool in request.tools) or "no tools at all"
