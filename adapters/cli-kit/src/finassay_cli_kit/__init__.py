"""Agents that are programs: an adapter says how its command is built and how its output lines are read, the kit does the rest."""

from finassay_cli_kit.agent import Command, CommandLineAgent, Ending, TurnCommand
from finassay_cli_kit.events import Done, Failed, KitEvent, Note, ProgramSession, Said, ToolCall, ToolResult, UsageReported
from finassay_cli_kit.jsonlines import JsonLinesAgent, parse_line
from finassay_cli_kit.program import PythonProgram, python_program

__all__ = [
    "Command",
    "CommandLineAgent",
    "Done",
    "Ending",
    "Failed",
    "JsonLinesAgent",
    "KitEvent",
    "Note",
    "ProgramSession",
    "PythonProgram",
    "Said",
    "ToolCall",
    "ToolResult",
    "TurnCommand",
    "UsageReported",
    "parse_line",
    "python_program",
]
