#!/usr/bin/env python3
"""Stands in for Gemini CLI: the lines are those of a run of 0.61.0 (shortened), the behaviour what the adapter relies on.

Words in the message choose what happens: OVERLOADED, LOGGED-OUT, NO-MODEL, BAD, TURNS, EMPTY, MUTE, HANG.
"""

import json
import os
import pathlib
import sys
import time

if "--version" in sys.argv:
    print(os.environ.get("FAKE_VERSION", "0.61.0"))
    sys.exit(0)


def option(name):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else None


def say(kind, **more):
    print(json.dumps({"type": kind, "timestamp": "2026-11-30T15:53:32.222Z", **more}), flush=True)


def stop(code, kind, message):
    say("result", status="error", error={"type": kind, "message": message}, stats={"input_tokens": 7, "output_tokens": 0, "cached": 0})
    sys.exit(code)


home = pathlib.Path(os.environ["GEMINI_CLI_HOME"]) / ".gemini"
settings = json.loads((home / "settings.json").read_text())
heard = sys.stdin.buffer.read().decode()
chat = home / "tmp" / (option("--resume") or option("--session-id"))
if "--resume" in sys.argv and not chat.exists():
    print(f'Error resuming session: Invalid session identifier "{option("--resume")}".', file=sys.stderr)
    sys.exit(42)
chat.parent.mkdir(exist_ok=True)
with chat.open("a") as file:
    file.write(json.dumps(heard) + "\n")
turns = len(chat.read_text().splitlines())

print("YOLO mode is enabled. All tool calls will be automatically approved.", file=sys.stderr)
say("init", session_id=chat.name, model=option("-m"))
say("message", role="user", content=heard)
if "MUTE" in heard:
    sys.exit(0)
if "OVERLOADED" in heard:
    stop(247, "unknown", "[API Error: The model is overloaded.]")
if "LOGGED-OUT" in heard:
    stop(145, "unknown", "[API Error: Scripted error 401.]")
if "NO-MODEL" in heard:
    print("Error when talking to Gemini API ModelNotFoundError: The model does not exist.", file=sys.stderr)
    stop(1, "unknown", "[API Error: The model does not exist.]")
if "BAD" in heard:
    stop(144, "unknown", "[API Error: Scripted error 400.]")
if "NOWHERE" in heard:
    stop(1, "unknown", "[API Error: exception TypeError: fetch failed sending request]")
if "TURNS" in heard:
    stop(53, "FatalTurnLimitedError", "Reached max session turns for this session.")
if "EMPTY" in heard:
    say("error", severity="error", message="Model stream ended with empty response text.")
    say("result", status="error", stats={"input_tokens": 7, "output_tokens": 0, "cached": 0})
    sys.exit(0)
say("message", role="assistant", content="I write ", delta=True)
say("message", role="assistant", content="it down.", delta=True)
if "HANG" in heard:
    time.sleep(60)
say("tool_use", tool_name="write_file", tool_id="w1", parameters={"file_path": "deliver/note.md", "content": "note"})
pathlib.Path("deliver/note.md").write_text("note")
say("tool_result", tool_id="w1", status="success")
say("tool_use", tool_name="mcp_price_get_price", tool_id="p1", parameters={"symbol": "AAA"})
say("tool_result", tool_id="p1", status="success", output='{"close": 1.5}')
say("tool_use", tool_name="run_shell_command", tool_id="s1", parameters={"command": "false"})
say("tool_result", tool_id="s1", status="error", output="", error={"type": "shell", "message": "exit code 1"})
say("message", role="assistant", content=f"Turn {turns}: {len(heard)} ", delta=True)
say("message", role="assistant", content=f"characters, key {os.environ.get('GEMINI_API_KEY', 'none')}.", delta=True)
stats = {"total_tokens": 109, "input_tokens": 100, "output_tokens": 9, "cached": 40, "input": 60, "duration_ms": 5, "tool_calls": 3}
say("result", status="success", stats=stats)
