"""What the lines of Gemini CLI's `stream-json` output mean."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from finassay.api.usage import Usage
from finassay_cli_kit import Done, Failed, KitEvent, Note, ProgramSession, Said, ToolCall, ToolResult, UsageReported, failed_call

STATUS: Final = re.compile(r'"code":\s*(\d{3})\b|\bstatus:? (\d{3})\b|\[(\d{3}) ')
OUTSIDE: Final = ("API Error", "fetch failed", "terminated", "Error when talking to Gemini API")
"""Words of an error without a status that say that the way to the API failed."""


class Reader:
    """Reads the lines of one turn."""

    def __init__(self) -> None:
        self._saying = False

    def read(self, data: Any) -> Iterator[KitEvent]:
        """The events of one line. Raises `TypeError`, `KeyError` or `AttributeError` where it is not one of the program's."""
        saying, self._saying = self._saying, False
        match data["type"]:
            case "init":
                yield ProgramSession(data["session_id"])
            case "message" if data["role"] == "assistant":
                yield Said(str(data["content"]), more=saying and data.get("delta") is True)
                self._saying = True
            case "tool_use":
                yield ToolCall(data["tool_id"], data["tool_name"], data.get("parameters") or {})
            case "tool_result":
                failed = data.get("status") != "success"
                told = data.get("output") or (data.get("error") or {}).get("message") or ""
                yield ToolResult(data["tool_id"], str(told), failed)
            case "error":
                yield Note(f"{data.get('severity')}: {data.get('message')}")
            case "result":
                yield from _result(data)


def _result(data: Mapping[str, Any]) -> Iterator[KitEvent]:
    stats = data.get("stats")
    if isinstance(stats, dict):
        yield UsageReported(Usage(stats.get("input_tokens"), stats.get("cached"), stats.get("output_tokens")))
    if data["status"] == "success":
        yield Done()
        return
    error = data.get("error")
    if isinstance(error, dict):
        yield failed(f"{error.get('type')}: {error.get('message')}")
    else:
        yield Failed("the model's answer was empty", provider=True)


def failed(text: str, status: int = 0) -> Failed:
    """Whose failure an error is. The program tells the API's status by its exit code, else at most in words."""
    if not status and (found := STATUS.search(text)):
        status = int(next(g for g in found.groups() if g))
    return failed_call(text, status, provider=any(word in text for word in OUTSIDE))


def status_of(exit_code: int | None) -> int:
    """The status of the API that an exit code stands for, which has only its last eight bits; 0 if it stands for none."""
    return exit_code + 256 if exit_code is not None and 400 - 256 <= exit_code <= 255 else 0
