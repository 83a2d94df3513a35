"""Agents that are programs: an adapter says how its command is built and how its output lines are read, the kit does the rest."""

from finassay_cli_kit.agent import Command, CommandLineAgent, Ending, TurnCommand
from finassay_cli_kit.events import Done, Failed, KitEvent, Note, ProgramSession, Said, ToolCall, ToolResult, UsageReported
from finassay_cli_kit.find import Program, ProgramSpec, find_program
from finassay_cli_kit.home import read_home
from finassay_cli_kit.installed import InstalledAgent, UserFile, Way, user_folder
from finassay_cli_kit.intake import Intake
from finassay_cli_kit.jsonlines import JsonLinesAgent, parse_line
from finassay_cli_kit.login import Login, read_login
from finassay_cli_kit.mcp import http_servers
from finassay_cli_kit.options import NodeProgramOptions, ProgramOptions, ToolOptions
from finassay_cli_kit.program import PythonProgram, python_program
from finassay_cli_kit.prompt import as_words, brief_and_message, transcript
from finassay_cli_kit.reading import content_text, failed_call, flags
from finassay_cli_kit.runtime import PythonRuntime, python_runtime

__all__ = [
    "Command",
    "CommandLineAgent",
    "Done",
    "Ending",
    "Failed",
    "InstalledAgent",
    "Intake",
    "JsonLinesAgent",
    "KitEvent",
    "Login",
    "NodeProgramOptions",
    "Note",
    "Program",
    "ProgramOptions",
    "ProgramSession",
    "ProgramSpec",
    "PythonProgram",
    "PythonRuntime",
    "Said",
    "ToolCall",
    "ToolOptions",
    "ToolResult",
    "TurnCommand",
    "UsageReported",
    "UserFile",
    "Way",
    "as_words",
    "brief_and_message",
    "content_text",
    "failed_call",
    "find_program",
    "flags",
    "http_servers",
    "parse_line",
    "python_program",
    "python_runtime",
    "read_home",
    "read_login",
    "transcript",
    "user_folder",
]
