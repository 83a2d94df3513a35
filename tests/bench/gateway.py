"""What the gateway adds to a model call: time to the first byte and to every chunk, and what a hundred sessions cost.

Upstream, program and gateway are processes of their own, as in a run; chunks carry the time at which they were sent.

python tests/bench/gateway.py upstream
python tests/bench/gateway.py program URL TOKEN CALLS PARALLEL
"""

import asyncio
import json
import resource
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from typing import Any

CALLS, CHUNKS, PAUSE = 30, 40, 0.02
"""Fifty chunks a second, as fast models stream."""
PARALLEL = 20
SESSIONS, CALLS_A_SESSION = 100, 15
_BODY = json.dumps({"model": "bench", "stream": True, "messages": [{"role": "user", "content": "x" * 20_000}]}).encode()


# -- upstream ---------------------------------------------------------------------------------------------------------


def _chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def _event(kind: str, **more: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection: streamed messages of CHUNKS events, PAUSE seconds apart unless the path says `fast`."""
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            lines = head.decode().lower().split("\r\n")
            size = next((int(line.partition(":")[2]) for line in lines if line.startswith("content-length:")), 0)
            await reader.readexactly(size)
            pause = 0.0 if "fast" in lines[0] else PAUSE
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            writer.write(_chunk(_event("message_start", message={"usage": {"input_tokens": 9, "output_tokens": 1}})))
            for _ in range(CHUNKS):
                await asyncio.sleep(pause)
                writer.write(_chunk(_event("content_block_delta", sent=time.monotonic_ns(), text="x" * 40)))
                await writer.drain()
            writer.write(_chunk(_event("message_delta", usage={"output_tokens": 9})) + _chunk(_event("message_stop")) + b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def _upstream() -> None:
    server = await asyncio.start_server(_answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


# -- program ----------------------------------------------------------------------------------------------------------


async def _call(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str, token: str) -> tuple[float, list[float]]:
    """(Milliseconds to the first byte of the body, milliseconds that each chunk was under way)."""
    begun = time.monotonic_ns()
    head = f"POST {path} HTTP/1.1\r\nHost: bench\r\nX-Api-Key: {token}\r\nContent-Type: application/json\r\nContent-Length: {len(_BODY)}\r\n\r\n"
    writer.write(head.encode() + _BODY)
    answer = await reader.readuntil(b"\r\n\r\n")
    if b" 200 " not in answer:
        raise RuntimeError(answer.decode())
    first, under_way = 0.0, []
    while size := int(await reader.readuntil(b"\r\n"), 16):
        data = (await reader.readexactly(size + 2))[:-2]
        now = time.monotonic_ns()
        first = first or (now - begun) / 1e6
        told = [json.loads(line[5:]).get("sent") for line in data.split(b"\n") if line.startswith(b"data:")]
        under_way += [(now - sent) / 1e6 for sent in told if sent]
    await reader.readexactly(2)
    return first, under_way


async def _calls(port: int, path: str, token: str, count: int) -> list[tuple[float, list[float]]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    await _call(reader, writer, path, token)  # connections are made, modules imported
    made = [await _call(reader, writer, path, token) for _ in range(count)]
    writer.close()
    return made


async def _program(url: str, token: str, count: int, parallel: int) -> None:
    port, path = url.removeprefix("http://127.0.0.1:").split("/", 1)
    made = await asyncio.gather(*(_calls(int(port), f"/{path}", token, count) for _ in range(parallel)))
    firsts = [first for one in made for first, _ in one]
    chunks = [value for one in made for _, under_way in one for value in under_way]
    print(json.dumps([_middle_and_high(firsts), _middle_and_high(chunks)]))


def _middle_and_high(values: list[float]) -> tuple[float, float]:
    return statistics.median(values), statistics.quantiles(values, n=20)[-1]


# -- the bench --------------------------------------------------------------------------------------------------------


def _measured(url: str, token: str, count: int, parallel: int) -> list[list[float]]:
    command = [sys.executable, __file__, "program", url, token, str(count), str(parallel)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    found: list[list[float]] = json.loads(done.stdout)
    return found


def bench_gateway() -> None:
    """First bytes and chunks through the gateway against the same upstream directly, alone and with others; then a hundred sessions."""
    with ExitStack() as stack:
        upstream = subprocess.Popen([sys.executable, __file__, "upstream"], stdout=subprocess.PIPE, text=True)
        stack.callback(upstream.wait)
        stack.callback(upstream.kill)
        assert upstream.stdout is not None
        address = f"http://127.0.0.1:{upstream.stdout.readline().strip()}"
        from finassay_gateway.gateway import StandardGateway
        from finassay_gateway.options import GatewayOptions, UpstreamOptions

        gateway = StandardGateway(GatewayOptions(upstreams={"bench": UpstreamOptions(url=address, format="anthropic", key="")}))
        stack.callback(gateway.close)
        _latency(gateway, address)
        _sessions(gateway)


def _latency(gateway: Any, address: str) -> None:
    from finassay.api.gateway import GatewaySpec

    session = gateway.open(GatewaySpec("bench", upstreams=("bench",)))
    for parallel, count in ((1, CALLS), (PARALLEL, CALLS // 6)):
        direct = _measured(f"{address}/v1/messages", "none", count, parallel)
        through = _measured(f"{session.access.urls['bench']}/v1/messages", session.access.token, count, parallel)
        print(f"gateway, {parallel} stream{'s' * (parallel > 1)} at once (milliseconds, direct -> through; median, 95 %):")
        for what, ours, theirs in (("first byte", through[0], direct[0]), ("chunk", through[1], direct[1])):
            print(
                f"  {what}: {theirs[0]:.2f} -> {ours[0]:.2f}, {theirs[1]:.2f} -> {ours[1]:.2f}; "
                f"added {ours[0] - theirs[0]:.2f} and {ours[1] - theirs[1]:.2f}"
            )
    session.close()


def _sessions(gateway: Any) -> None:
    from finassay.api.gateway import GatewaySpec

    told: list[int] = []
    begun = time.perf_counter()
    sessions = [
        gateway.open(GatewaySpec(f"s{n}", upstreams=("bench",), called=lambda call: told.append(call.status))) for n in range(SESSIONS)
    ]
    opened = time.perf_counter() - begun
    memory, cpu, begun = _memory_mb(), time.process_time(), time.perf_counter()
    reached = [_asked(sessions, round) for round in (1, CALLS_A_SESSION)][-1]
    wall, cpu = time.perf_counter() - begun, time.process_time() - cpu
    print(
        f"gateway: {SESSIONS} sessions opened in {opened:.2f} s; {len(told)} streamed calls of {CHUNKS} chunks in {wall:.1f} s, "
        f"{cpu / len(told) * 1000:.1f} ms of CPU a call; memory {memory:.0f} -> {_memory_mb():.0f} MB"
    )
    begun = time.perf_counter()
    for session in sessions:
        session.close()
    print(f"gateway: {SESSIONS} sessions closed in {time.perf_counter() - begun:.2f} s; every call told: {len(told) == reached}")


def _asked(sessions: list[Any], rounds: int) -> int:
    """Calls of all sessions at once, from processes of their own; how many there were in all so far."""
    command = [sys.executable, __file__, "sessions", str(rounds)]
    given = json.dumps([[session.access.urls["bench"] + "/v1/messages?fast=1", session.access.token] for session in sessions])
    subprocess.run(command, input=given, text=True, check=True, timeout=600)
    return len(sessions) * (rounds + 1 + (2 if rounds > 1 else 0))


async def _all_sessions(rounds: int) -> None:
    given = json.loads(sys.stdin.read())
    split = [(url.removeprefix("http://127.0.0.1:").split("/", 1), token) for url, token in given]
    await asyncio.gather(*(_calls(int(port), f"/{path}", token, rounds) for (port, path), token in split))


def _memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["upstream"]:
            asyncio.run(_upstream())
        case ["program", url, token, count, parallel]:
            asyncio.run(_program(url, token, int(count), int(parallel)))
        case ["sessions", rounds]:
            asyncio.run(_all_sessions(int(rounds)))
        case _:
            bench_gateway()
