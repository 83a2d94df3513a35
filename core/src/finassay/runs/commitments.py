"""Tasks drawn under a secret, so that nobody can draw them again from the public grammar; and what proves later that they were these.

A plain task is a pure function of the public grammar and a small seed: an agent that has the grammar can try seeds until an opening fits.
Under a secret the seed is HMAC-SHA-256(secret, purpose | grammar | version | number), and the number alone is public. When tasks are drawn
their commitments can be published: for each SHA-256(salt | canonical JSON of the task) with a salt from the same secret, because the tasks
of a small grammar could be tried one by one against a plain hash. Publishing the secret opens all of them at once.
"""

import hashlib
import hmac
import json
import os
import secrets
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from attrs import Factory, frozen

from finassay.api.errors import InvalidFileError, UsageError
from finassay.api.strategy import Grammar, Universe
from finassay.api.task import Conditions, Task
from finassay.records.convert import from_json, to_json
from finassay.records.files import check_schema, read_json, sync_folder, write_atomically, write_json
from finassay.runs.sampling import sample_task

KIND: Final = "finassay-commitments"
VERSION: Final = 1
MIN_BYTES: Final = 32
"""Of a secret: 256 bits, as long as the hashes made with it."""
MAX_BYTES: Final = 4096
MAX_TASKS: Final = 100_000


@frozen
class Secret:
    """What tasks are drawn under. Its bytes stand in no record until somebody publishes them."""

    key: bytes = Factory(bytes)

    def __repr__(self) -> str:
        return "Secret(…)"

    def seed(self, grammar: Grammar, number: int) -> int:
        """The seed of the task of that number: 63 bits."""
        return int.from_bytes(self._derive("seed", grammar.id, grammar.version, number)[:8], "big") >> 1

    def commitment(self, number: int, task: Task) -> str:
        """Hides the task until the secret is known, and fits no other task."""
        salt = self._derive("salt", task.grammar, task.grammar_version, number)
        return hashlib.sha256(salt + canonical(task)).hexdigest()

    @property
    def digest(self) -> str:
        """What the secret itself is recognized by."""
        return hashlib.sha256(b"finassay secret 1\0" + self.key).hexdigest()

    def _derive(self, purpose: str, grammar: str, version: str, number: int) -> bytes:
        return hmac.new(self.key, "\0".join(("finassay task 1", purpose, grammar, version, str(number))).encode(), hashlib.sha256).digest()


def canonical(task: Task) -> bytes:
    """The task in the one form that is hashed: JSON with sorted keys, without spaces, in UTF-8, as it would be after being stored once."""
    stored = from_json(Task, to_json(task), task.id)  # where a float is meant, a grammar may have given 252
    told = {name: value for name, value in to_json(stored).items() if name != "drawn"}  # which says what became of it later
    return json.dumps(told, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


def make_secret(path: Path) -> Secret:
    """A new secret in a file that only its owner can read: whole and on the disk, or not there.

    Raises `InvalidFileError` if something is there already, `OSError` if the system refuses the file.
    """
    text = secrets.token_hex(MIN_BYTES)
    scratch = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        write_atomically(scratch, f"{text}\n".encode(), mode=0o600, make_folder=False)
        os.link(scratch, path)  # unlike a rename it never takes another one's place
        sync_folder(path.parent)
    except FileExistsError:
        raise InvalidFileError(f"{path}: is there already") from None
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise
    finally:
        scratch.unlink(missing_ok=True)
    return Secret(text.encode())


def read_secret(path: Path) -> Secret:
    """The secret in a file. Raises `InvalidFileError` if it is short, or if others can read it."""
    try:
        with open(path, "rb") as stream:
            mode, key = os.fstat(stream.fileno()).st_mode, stream.read(MAX_BYTES + 1).strip()
    except OSError as error:
        raise InvalidFileError(f"{path}: cannot be read: {error.strerror}") from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InvalidFileError(f"{path}: others can read this secret", hint=f"chmod 600 {path}")
    if not MIN_BYTES <= len(key) <= MAX_BYTES:
        raise InvalidFileError(
            f"{path}: a secret has {MIN_BYTES} to {MAX_BYTES} bytes; this has {len(key)}",
            hint="Name a file that is not there to have one made.",
        )
    return Secret(key)


def secret_task(secret: Secret, grammar: Grammar, number: int, needs: frozenset[str], conditions: Callable[[Universe], Conditions]) -> Task:
    """The task of a number under a secret. Its id holds the number and the first digits of the secret's digest, never the seed.

    Raises what `sample_task` raises.
    """
    return sample_task(grammar, secret.seed(grammar, number), needs, conditions, id=f"{grammar.id}-{secret.digest[:8]}-{number}")


@frozen
class Committed:
    """One task as it was committed to."""

    id: str
    number: int
    commitment: str


@frozen
class Commitments:
    """What is published when tasks are drawn under a secret. Tells nothing of them."""

    grammar: str
    grammar_version: str
    needs: tuple[str, ...]
    secret: str
    """Digest of the secret."""
    tasks: tuple[Committed, ...]


def check_commitments(path: Path, made: Commitments) -> None:
    """Raises `UsageError` if a file holds commitments to other tasks."""
    if path.exists() and read_commitments(path) != made:
        raise UsageError(f"{path} commits to other tasks", hint="Choose another --out: what was published must stay true.")


def write_commitments(path: Path, made: Commitments) -> None:
    """Store them. Raises `UsageError` if the file holds commitments to other tasks: they may have been published."""
    check_commitments(path, made)
    write_json(path, {"kind": KIND, "schema_version": VERSION, **to_json(made)})


def read_commitments(path: Path) -> Commitments:
    """Raises `InvalidFileError`."""
    data: Mapping[str, Any] = check_schema(read_json(path, "commitments"), path, kind=KIND, version=VERSION)
    try:
        if len(data["tasks"]) > MAX_TASKS:
            raise InvalidFileError(f"{path}: commits to more than {MAX_TASKS:,} tasks")
        tasks = tuple(Committed(str(t["id"]), int(t["number"]), str(t["commitment"])) for t in data["tasks"])
        if not tasks or len({one.id for one in tasks}) < len(tasks):
            raise InvalidFileError(f"{path}: commits to no task, or to one twice")
        grammar, version, secret = (str(data[name]) for name in ("grammar", "grammar_version", "secret"))
        return Commitments(grammar, version, tuple(map(str, data["needs"])), secret, tasks)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidFileError(f"{path}: not commitments to tasks: {type(error).__name__}: {error}") from error


@frozen
class Opened:
    """What revealing one task showed."""

    id: str
    kept: bool
    """The task is the one that was committed to."""
    drawn: bool | None
    """Drawing it again gives the same task; None where the grammar of that version is not here."""
    overridden: tuple[str, ...] = ()
    """Limits under which a run has held it instead of its own, in words."""


def open_commitments(made: Commitments, secret: Secret, tasks: Mapping[str, Task], grammar: Grammar | None) -> list[Opened]:
    """Hold tasks against what was published of them. Those that are missing count as not kept.

    `grammar` is the installed one, None where it is not installed. Raises `UsageError` for another secret, and for tasks that nobody committed to:
    who gives the tasks of a run must not have slipped some in.
    """
    strangers = sorted(set(tasks) - {one.id for one in made.tasks})
    if strangers:
        raise UsageError(f"nothing was committed to for {len(strangers)} of the tasks: {', '.join(strangers[:8])}")
    if not hmac.compare_digest(secret.digest, made.secret):
        raise UsageError("these commitments were made under another secret")
    return [_opened(made, one, secret, tasks.get(one.id), grammar) for one in made.tasks]


def _opened(made: Commitments, one: Committed, secret: Secret, task: Task | None, grammar: Grammar | None) -> Opened:
    if task is None:
        return Opened(one.id, False, None)
    overridden = tuple(f"{name} {getattr(task.conditions, name):g} instead of {own:g}" for name, own in task.drawn.values.items())
    task = task.as_drawn
    same_grammar = (task.grammar, task.grammar_version) == (made.grammar, made.grammar_version)
    kept = same_grammar and hmac.compare_digest(secret.commitment(one.number, task), one.commitment)
    if grammar is None or (grammar.id, grammar.version) != (made.grammar, made.grammar_version):
        return Opened(one.id, kept, None, overridden)
    again = secret_task(secret, grammar, one.number, frozenset(made.needs), lambda universe: task.conditions)
    return Opened(one.id, kept, canonical(again) == canonical(task), overridden)
