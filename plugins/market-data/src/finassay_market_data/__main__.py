"""`python -m finassay_market_data`: the MCP server, by default on stdin and stdout over the embedded market."""

import argparse
import os
import sys
from datetime import date
from importlib.metadata import version
from pathlib import Path

from finassay_market_data.market import ADJUSTED, Market, embedded_market, folder_market
from finassay_market_data.series import MarketError

LOOPBACK = ("127.0.0.1", "::1")


def main(arguments: list[str] | None = None) -> int:
    """Exit code 2 and one line for what cannot be served."""
    parser = _parser()
    given = parser.parse_args(arguments)
    token = os.environ.get(given.token_variable, "").strip() if given.token_variable else ""
    if given.token_variable and not token:
        parser.error(f"{given.token_variable} is not set")
    if given.http and given.host not in LOOPBACK and not token:
        parser.error("--host leads away from this machine: name a token with --token-variable")
    try:
        market = _market(given)
    except MarketError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    from finassay_market_data.server import make_server, serve_http, serve_stdio

    server = make_server(market, version("finassay-market-data"))
    if not given.http:
        serve_stdio(server)
        return 0
    try:
        serve_http(server, given.host, given.port, token)
    except OSError as error:
        print(f"error: cannot listen at {given.host}, port {given.port}: {error.strerror}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m finassay_market_data", description=__doc__, allow_abbrev=False)
    parser.add_argument("--folder", type=Path, help="parquet or CSV files of daily prices; the embedded market if left out")
    parser.add_argument("--cutoff", type=date.fromisoformat, metavar="YYYY-MM-DD", help="last day of which anything is told, inclusive")
    parser.add_argument("--source", default="", help="where the folder's prices come from, in words that agents read")
    parser.add_argument("--adjusted", choices=tuple(ADJUSTED), default="unknown", help="how the folder's prices were adjusted")
    parser.add_argument("--index", default="", help="ticker of the folder's index")
    parser.add_argument("--http", action="store_true", help="serve streamable HTTP at /mcp instead of stdin and stdout")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=0, help="port to listen on; 0 takes a free one, which is printed")
    parser.add_argument("--token-variable", default="", help="environment variable with the bearer token that clients must show")
    return parser


def _market(given: argparse.Namespace) -> Market:
    if given.folder is None:
        if given.source or given.index or given.adjusted != "unknown":
            raise MarketError("--source, --adjusted and --index belong to --folder")
        return embedded_market(given.cutoff)
    market, left = folder_market(given.folder, given.cutoff, source=given.source, adjusted=given.adjusted, index=given.index)
    for name, reason in left[:20]:
        print(f"not taken: {name!r} {reason}", file=sys.stderr)
    if len(left) > 20:
        print(f"not taken: {len(left) - 20} more files", file=sys.stderr)
    return market


if __name__ == "__main__":
    sys.exit(main())
