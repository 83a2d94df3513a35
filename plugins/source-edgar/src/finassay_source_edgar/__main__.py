"""`python -m finassay_source_edgar serve`: EDGAR over MCP on standard input and output, as of a day."""

import argparse
import sys
from datetime import date
from importlib.metadata import version

from pydantic import ValidationError

from finassay_source_edgar.source import EdgarOptions, EdgarSource


def main(arguments: list[str] | None = None) -> int:
    """Exit code 2 and one line for options that are none."""
    parser = argparse.ArgumentParser(prog="python -m finassay_source_edgar", description=__doc__, allow_abbrev=False)
    commands = parser.add_subparsers(dest="what", required=True)
    command = commands.add_parser("serve", help="serve MCP on stdin and stdout", allow_abbrev=False)
    command.add_argument("--cutoff", type=date.fromisoformat, metavar="YYYY-MM-DD", required=True)
    command.add_argument("--options", required=True, metavar="JSON", help="the source's options")
    given = parser.parse_args(arguments)
    try:
        options = EdgarOptions.model_validate_json(given.options)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        print(f"error: {'.'.join(map(str, first['loc'])) or 'options'}: {first['msg']}", file=sys.stderr)
        return 2
    from finassay_source_corpus.server import make_server, serve

    serve(make_server(EdgarSource(options), given.cutoff, version("finassay-source-edgar"), "finassay-source-edgar"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
