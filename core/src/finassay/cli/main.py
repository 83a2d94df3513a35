"""Entry point. Imports click and metadata only: a command is imported when it runs, so that `--help` answers at once."""

import errno
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points, version
from typing import Any

import click

BUILTIN = {
    "tasks": ("finassay.cli.tasks:tasks", "Sample tasks from a grammar, and show them."),
    "run": ("finassay.cli.run:run", "Hold sessions and grade them; the same command resumes."),
    "import": ("finassay.cli.import_:import_", "Bring sessions held elsewhere into a run."),
    "grade": ("finassay.cli.grade:grade", "Grade a run again without holding anything again."),
    "report": ("finassay.cli.report:report", "Print the table of a run and write its page."),
    "show": ("finassay.cli.show:show", "Show one session: conversation, files, every score."),
    "grammar": ("finassay.cli.grammar:grammar", "Count and check a grammar."),
    "plugins": ("finassay.cli.plugins:plugins", "List what is installed."),
    "conform": ("finassay.cli.conform:conform", "Test an installed component against its protocol."),
    "new": ("finassay.cli.new:new", "Start a distribution from a template."),
    "doctor": ("finassay.cli.doctor:doctor", "Say what works on this machine, and what does not."),
}
GROUP = "finassay.commands"
STOPPED = (130, 141, 143)
"""Exit codes of a program that was stopped by hand, by the end of its reader, or by its caller."""
_ROOM = "Make room, and give the same command again."
_PLACE = "Choose a place that can be written to."
HINTS = {errno.ENOSPC: _ROOM, errno.EDQUOT: _ROOM, errno.EFBIG: _ROOM, errno.EACCES: _PLACE, errno.EPERM: _PLACE, errno.EROFS: _PLACE}


def _offered() -> dict[str, EntryPoint]:
    """Commands of plugins. A built-in name cannot be taken; of two plugins with one name neither is shown as a built-in would be."""
    found: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda e: (e.name, e.value)):
        if entry.name not in BUILTIN:
            found.setdefault(entry.name, entry)
    return found


class LazyGroup(click.Group):
    """Knows its commands by name and one line of help; loads the one that runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*BUILTIN, *_offered()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in BUILTIN:
            module, _, attribute = BUILTIN[cmd_name][0].partition(":")
            command: click.Command = getattr(import_module(module), attribute)
            return command
        entry = _offered().get(cmd_name)
        if entry is None:
            return None
        try:
            loaded: click.Command = entry.load()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # somebody else's code, which may also call sys.exit
            from finassay.api.errors import CatalogError

            who = f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.value
            raise CatalogError(f"command {cmd_name!r} of {who} cannot be loaded: {type(error).__name__}: {error}") from error
        return loaded

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, help_line) for name, (_, help_line) in BUILTIN.items()]
        rows += [(name, _summary(entry)) for name, entry in _offered().items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _summary(entry: EntryPoint) -> str:
    summary = entry.dist.metadata["Summary"] if entry.dist else ""
    return f"{summary or ''} [{entry.dist.name if entry.dist else 'unknown'}]"


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(version("finassay"), prog_name="finassay")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def cli(ctx: click.Context, debug: bool) -> None:
    """Tell whether an agent's financial work can be trusted."""
    ctx.obj = {"debug": debug}


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line; a mistake is one line and a hint, and its own exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if "--debug" in arguments[1:] and next((a for a in arguments if not a.startswith("-")), "") in BUILTIN:
        arguments = ["--debug", *(a for a in arguments if a != "--debug")]  # wherever it was written
    try:
        with _terminated_as_interrupted():
            return cli.main(args=arguments, prog_name="finassay", standalone_mode=False) or 0
    except click.exceptions.Abort:
        click.echo("stopped", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        click.echo("stopped; the same command goes on where it was", err=True)
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(141)
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # rich ends the program where its output is read no more
            sys.exit(141)
        if error.code in STOPPED or not any(a in BUILTIN for a in arguments):
            raise
        click.echo(f"internal error: a plugin ended the program (sys.exit({error.code!r})); see: finassay plugins --check", err=True)
        sys.exit(1)
    except Exception as error:
        sys.exit(_tell(error, debug="--debug" in arguments))


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM ends a command as Ctrl-C does: with everything that it started."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _tell(error: Exception, *, debug: bool) -> int:
    """Print an error as one line and a hint, with `debug` the traceback before them; the exit code."""
    from finassay.api.errors import FILE_REFUSED, FinassayError, PreflightError
    from finassay.cli.words import clean, one_line

    if debug:
        click.echo(clean("".join(traceback.format_exception(error))), err=True)
    if isinstance(error, PreflightError) and error.problems:
        click.echo("error: the run was not started:", err=True)
        for problem in error.problems:
            click.echo(f"  - {one_line(problem, 2_000)}", err=True)
        return error.exit_code
    if isinstance(error, FinassayError):
        click.echo(f"error: {one_line(str(error), 2_000)}", err=True)
        if error.hint:
            click.echo(f"hint: {one_line(error.hint, 2_000)}", err=True)
        return error.exit_code
    if isinstance(error, OSError) and (error.strerror or error.filename):
        named = " -> ".join(str(name) for name in (error.filename, error.filename2) if name is not None)
        said = f"{named}: " if named else ""
        click.echo(f"error: {one_line(said + (error.strerror or type(error).__name__), 2_000)}", err=True)
        if hint := HINTS.get(error.errno or 0):
            click.echo(f"hint: {hint}", err=True)
        return FILE_REFUSED
    click.echo(f"internal error: {one_line(f'{type(error).__name__}: {error}')}; run again with --debug for the traceback", err=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())
