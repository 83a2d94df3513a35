"""A small agent of the protocol, made with its own library: does what the last line of a prompt says. Run as a program by the tests."""

import argparse
import asyncio
import json
import os
import pathlib
import sys
import urllib.request
from typing import Any

import acp
from acp.schema import (
    AgentCapabilities,
    Cost,
    Implementation,
    InitializeResponse,
    LoadSessionResponse,
    McpCapabilities,
    NewSessionResponse,
    PermissionOption,
    PlanEntry,
    PromptResponse,
    ResumeSessionResponse,
    SessionCapabilities,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
    SessionResumeCapabilities,
    SetSessionConfigOptionResponse,
    ToolCallUpdate,
    Usage,
    UsageUpdate,
)

STORE = pathlib.Path.home() / "peer-sessions"


class Peer(acp.Agent):
    """Keeps its sessions in HOME, one JSON file each."""

    def __init__(self, how: argparse.Namespace) -> None:
        self.how, self.client = how, None
        self.servers: list[Any] = []
        self.set: dict[str, Any] = {}
        self.cancelled = asyncio.Event()

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, client_capabilities: Any = None, client_info: Any = None, **more: Any) -> Any:
        self.offered = client_capabilities
        return InitializeResponse(
            protocol_version=self.how.protocol,
            agent_capabilities=AgentCapabilities(
                load_session=self.how.keeps in ("load", "late"),
                mcp_capabilities=McpCapabilities(http=not self.how.no_http),
                session_capabilities=SessionCapabilities(resume=SessionResumeCapabilities() if self.how.keeps == "resume" else None),
            ),
            agent_info=Implementation(name="peer", version="7.1"),
        )

    async def authenticate(self, method_id: str, **more: Any) -> None:
        self.set["login"] = method_id

    async def new_session(self, cwd: str, mcp_servers: Any = None, **more: Any) -> Any:
        if self.how.auth and "login" not in self.set:
            raise acp.RequestError.auth_required()
        self.servers, name = mcp_servers or [], f"peer-{os.getpid()}"
        self._save(name, [])
        return NewSessionResponse(session_id=name, modes=self._modes(), config_options=self._options())

    async def load_session(self, cwd: str, session_id: str, mcp_servers: Any = None, **more: Any) -> Any:
        self.servers = mcp_servers or []
        said = self._load(session_id)

        async def replay() -> None:
            for text in said:
                await self.client.session_update(session_id, acp.update_user_message_text("an old message"))
                await self.client.session_update(session_id, acp.update_agent_message_text(f"OLD {text}"))
                await asyncio.sleep(0.05)

        if self.how.keeps == "late":
            self.replaying = asyncio.create_task(replay())
        else:
            await replay()
        return LoadSessionResponse(modes=self._modes(), config_options=self._options())

    async def resume_session(self, session_id: str, cwd: str, mcp_servers: Any = None, **more: Any) -> Any:
        self.servers = mcp_servers or []
        self._load(session_id)
        return ResumeSessionResponse(modes=self._modes(), config_options=self._options())

    async def set_session_mode(self, session_id: str, mode_id: str, **more: Any) -> None:
        self.set["mode"] = mode_id

    async def set_config_option(self, config_id: str, session_id: str, value: Any, **more: Any) -> Any:
        self.set[config_id] = value
        return SetSessionConfigOptionResponse(config_options=self._options())

    async def cancel(self, session_id: str, **more: Any) -> None:
        pathlib.Path("cancelled").touch()
        self.cancelled.set()

    async def prompt(self, prompt: Any, session_id: str, **more: Any) -> Any:
        text = "".join(block.text for block in prompt)
        said = self._load(session_id)
        word, _, rest = text.splitlines()[-1].partition(" ")
        stop, answer = await self._act(word, rest, text, session_id)
        self._save(session_id, [*said, rest or word])
        if answer:
            for piece in (answer[:3], answer[3:]):
                await self.client.session_update(session_id, acp.update_agent_message_text(piece))
        usage = Usage(total_tokens=170, input_tokens=100, output_tokens=30, cached_read_tokens=40)
        return PromptResponse(stop_reason=stop, usage=usage)

    async def _act(self, word: str, rest: str, text: str, session: str) -> tuple[str, str]:
        if word == "write":
            return "end_turn", await self._write(rest, session)
        if word == "tell":
            facts = {
                "prompt": text,
                "said": self._load(session),
                "set": self.set,
                "env": dict(os.environ),
                "cwd": os.getcwd(),
                "argv": sys.argv,
            }
            facts["offered"] = self.offered.model_dump(mode="json", exclude_none=True) if self.offered else None
            return "end_turn", json.dumps(facts)
        if word == "channel":
            server = self.servers[0]
            headers = {h.name: h.value for h in server.headers}
            body = await asyncio.to_thread(
                lambda: urllib.request.urlopen(urllib.request.Request(server.url, b"x", headers), timeout=5).read()
            )
            return "end_turn", f"{server.name} says {body.decode()}"
        if word == "wait":
            await self.client.session_update(session, acp.update_agent_message_text("So far."))
            pathlib.Path("waiting").touch()
            await self.cancelled.wait()
            return "cancelled", ""
        if word == "hang":
            pathlib.Path("waiting").touch()
            await asyncio.sleep(600)
        if word == "fail":
            raise acp.RequestError(int(rest), "the model said no", {"details": "overloaded"})
        if word == "crash":
            print("the reason", file=sys.stderr)
            os._exit(3)
        if word == "stop":
            return rest, "As far as I got."
        return "end_turn", f"You said: {word} {rest}".rstrip()

    async def _write(self, name: str, session: str) -> str:
        update, client = self.client.session_update, self.client
        await update(session, acp.update_agent_thought_text("I should "))
        await update(session, acp.update_agent_thought_text("write it."))
        await update(session, acp.update_plan([PlanEntry(content="write", priority="high", status="pending")]))
        await update(session, acp.update_agent_message_text("Let me write."))
        await update(session, acp.start_tool_call("t1", f"Write {name}", kind="edit", status="pending"))
        options = [
            PermissionOption(option_id="never", name="No", kind="reject_once"),
            PermissionOption(option_id="always", name="Always", kind="allow_always"),
            PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
        ]
        asked = ToolCallUpdate(tool_call_id="t1", title=f"Write {name}", raw_input={"path": name})
        outcome = (await client.request_permission(session_id=session, tool_call=asked, options=options)).outcome
        chosen = getattr(outcome, "option_id", outcome.outcome)
        if chosen == "yes":
            pathlib.Path("deliver", name).write_text("# Report")
        status = "completed" if chosen == "yes" else "failed"
        await update(
            session,
            acp.update_tool_call("t1", status=status, content=[acp.tool_content(acp.text_block(chosen))], raw_output={"exit_code": 0}),
        )
        await update(session, UsageUpdate(session_update="usage_update", used=10, size=100, cost=Cost(amount=0.5, currency="USD")))
        return f"Wrote {name}: {chosen}"

    def _load(self, session: str) -> list[str]:
        try:
            return list(json.loads((STORE / session).read_text()))
        except OSError:
            raise acp.RequestError.resource_not_found(session) from None

    def _save(self, session: str, said: list[str]) -> None:
        STORE.mkdir(exist_ok=True)
        (STORE / session).write_text(json.dumps(said))

    def _modes(self) -> Any:
        return SessionModeState(
            current_mode_id="ask", available_modes=[SessionMode(id="ask", name="Ask"), SessionMode(id="free", name="Free")]
        )

    def _options(self) -> Any:
        values = [SessionConfigSelectOption(value=v, name=v) for v in ("small", "large")]
        return [SessionConfigOptionSelect(type="select", id="brain", name="Model", category="model", current_value="small", options=values)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--keeps", choices=("nothing", "load", "late", "resume"), default="resume")
    parser.add_argument("--no-http", action="store_true")
    parser.add_argument("--auth", action="store_true")
    parser.add_argument("--protocol", type=int, default=1)
    parser.add_argument("more", nargs="*")
    asyncio.run(acp.run_agent(Peer(parser.parse_args()), use_unstable_protocol=True))


if __name__ == "__main__":
    main()
