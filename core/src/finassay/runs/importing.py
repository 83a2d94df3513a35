"""Bringing a session that was held elsewhere into a run folder: bounded, hostile-safe, all or nothing.

Nothing that comes in is executed. Files are opened below their folder component by component, so that no link leads out; a session is
visible in the run only once everything of it is stored.
"""

import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from attrs import evolve, fields, frozen
from pydantic import ValidationError

from finassay.api.amiss import first_amiss
from finassay.api.conversation import Conversation, Message
from finassay.api.delivery import Blobs, DeliveredFile, Delivery, LogEvent, TurnFacts
from finassay.api.errors import CatalogError, InvalidFileError, UsageError
from finassay.api.persona import Persona, Voice
from finassay.api.scorecard import UserTurn
from finassay.api.simulator import Scene
from finassay.api.strategy import Belief, Strategy, Universe
from finassay.api.task import Conditions, Task
from finassay.api.usage import Usage
from finassay.catalog.catalog import Catalog
from finassay.config.settings import Choice, RunSettings
from finassay.records.convert import to_json
from finassay.records.events import VERSION, EventLog, agent_event, end_event, user_event
from finassay.records.imported import FILE, FILES, MAX_FILES, ImportedSession, ImportedTask, item_value, shown, unknown
from finassay.runs.folder import RunFolder, SessionKey
from finassay.runs.identity import digest_of
from finassay.session.disclosure import Disclosure
from finassay.session.excerpts import excerpts
from finassay.session.intake import IntakeLimits, take_file, take_tree
from finassay.session.labels import labelled
from finassay.session.speech import disclosure_events, labelled_turn

MAX_JSON = 256 * 2**20
LIMITS = IntakeLimits()
NO_GRAMMAR = "none"
ELSEWHERE = "held-elsewhere"
"""Stands for the simulator of a run into which sessions were brought."""


@frozen
class Imported:
    """What came in. `ignored` names keys of the file that are not known: they are kept with the sealed record and not read."""

    key: SessionKey
    turns: int
    files: int
    reason: str
    ignored: tuple[str, ...] = ()


def read_session(folder: Path) -> tuple[ImportedSession, str]:
    """The session that `session.json` in a folder describes, and the hash of its bytes. Raises `InvalidFileError` with one line."""
    path = folder / FILE
    if not folder.is_dir():
        raise InvalidFileError(f"{folder}: is no folder", hint=f"Name a folder with {FILE} and {FILES}/.")
    try:
        if path.is_symlink():
            raise InvalidFileError(f"{path}: is a link")
        if path.stat().st_size > MAX_JSON:
            raise InvalidFileError(f"{path}: is larger than {MAX_JSON:,} bytes")
        data = path.read_bytes()
        return ImportedSession.model_validate(json.loads(data)), hashlib.sha256(data).hexdigest()
    except FileNotFoundError:
        raise InvalidFileError(f"{path}: not found", hint="The shape: docs/howto/import-a-session.md") from None
    except ValidationError as error:
        amiss = first_amiss(error, ImportedSession)
        raise InvalidFileError(f"{path}: {amiss.line()}", hint=f"{amiss.hint} The shape: finassay import --schema".strip()) from None
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidFileError(f"{path}: cannot be read as JSON: {shown(str(error))}") from None


def import_session(
    source: Path, out: Path, catalog: Catalog, *, agent: str | None = None, grammar: str | None = None, channels: tuple[str, ...] = ()
) -> Imported:
    """Store the session of a folder in a run folder, which is made if need be. All or nothing.

    Raises `InvalidFileError` for what cannot be read, `UsageError` for a session that the run holds already.
    """
    session, digest = read_session(source)
    alias = _name(agent or session.agent)
    try:
        task = _task(session.task, _name(session.id or source.resolve().name), catalog, grammar, channels)
    except ValueError as error:
        raise InvalidFileError(f"{source / FILE}: task.items: {error}") from None
    fresh = not out.exists()
    folder = RunFolder(out)
    try:
        with folder.locked():
            key = _free_key(folder, alias, task.id, digest)
            with _undone_on_failure(folder):
                trees = _take_files(source, session, folder)
                _store(folder, key, task, session, digest, trees)
    except BaseException:
        if fresh:
            shutil.rmtree(out, ignore_errors=True)
        raise
    agents = [m for m in session.conversation if m.sender == "agent"]
    return Imported(
        key, len(agents), len(trees[-1].files) if trees else 0, session.end.reason, tuple(shown(k) for k in sorted(unknown(session))[:20])
    )


def _name(text: str) -> str:
    """A name as session ids and file names can hold it."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-")[:80] or "imported"


# -- the task -----------------------------------------------------------------------------------------------------------


def _task(given: ImportedTask, name: str, catalog: Catalog, grammar: str | None, channels: tuple[str, ...]) -> Task:
    """The task with the items in the grammar's words. Raises `ValueError` for items that the grammar does not know."""
    grammar_id, grammar_version, strategy, belief, observables = NO_GRAMMAR, "0", Strategy(NO_GRAMMAR, "0", 0, {}), Belief((), ()), {}
    if given.items:
        words = _grammar(catalog, grammar or given.grammar)
        strategy = _strategy(words, given)
        belief, observables = words.belief(strategy), dict(words.observables(strategy))
        grammar_id, grammar_version = words.id, words.version
    conditions = Conditions(
        cutoff=given.cutoff,
        universe=Universe("imported", given.universe.text, given.universe.tickers),
        channels=channels or given.channels,
        max_turns=given.max_turns or 1_000,
        exchange=given.exchange,
        timezone=given.timezone,
    )
    if given.turn_seconds is not None:
        conditions = evolve(conditions, turn_seconds=given.turn_seconds)
    return Task(
        id=name,
        grammar=grammar_id,
        grammar_version=grammar_version,
        seed=given.grammar_seed,
        persona=given.persona,
        strategy=strategy,
        belief=belief,
        conditions=conditions,
        observables=observables,
    )


def _grammar(catalog: Catalog, wanted: str | None) -> Any:
    """The grammar of the items: the named one, else the only one that is installed."""
    if wanted is None:
        installed = sorted({offer.id for offer in catalog.offers("grammar")})
        if len(installed) != 1:
            known = ", ".join(installed) or "none is installed"
            raise UsageError("task.items need a grammar, and none is named", hint=f"Name it with --grammar; installed: {known}.")
        wanted = installed[0]
    return catalog.create("grammar", wanted)[0]


def _strategy(grammar: Any, given: ImportedTask) -> Strategy:
    """The strategy that voices exactly the given items: the one of the seed, else the one that the grammar makes of the ids."""
    wanted = dict(item_value(item) for item in given.items)
    sampled: Strategy = grammar.sample(given.grammar_seed)
    if _voices(grammar, sampled, wanted):
        return sampled
    maker = getattr(grammar, "strategy_of", None)
    if maker is None:
        raise ValueError(
            f"grammar {grammar.id!r} does not draw these items from seed {given.grammar_seed} and cannot make a strategy of ids"
        )
    strategy: Strategy = maker(wanted, given.grammar_seed)
    if not _voices(grammar, strategy, wanted):
        raise ValueError(f"grammar {grammar.id!r} has no strategy that voices exactly these items")
    return strategy


def _voices(grammar: Any, strategy: Strategy, wanted: dict[str, float | None]) -> bool:
    voiced = {item.id: item.number.value if item.number else None for item in grammar.belief(strategy).items}
    return voiced.keys() == wanted.keys() and all(value is None or value == voiced[name] for name, value in wanted.items())


# -- what was delivered -------------------------------------------------------------------------------------------------


def _take_files(source: Path, session: ImportedSession, folder: RunFolder) -> list[Delivery]:
    """The tree after each agent turn. Raises `InvalidFileError` for the first file that cannot be taken."""
    turns = [m.turn for m in session.conversation if m.sender == "agent"]
    taken: dict[str, DeliveredFile] = {}
    trees: list[Delivery] = []
    total = 0
    for turn in turns:
        named = session.deliveries.get(str(turn))
        if named is None:
            trees.append(Delivery(turn, trees[-1].files if trees else ()))
            continue
        if isinstance(named, str):
            trees.append(_take_folder(source, named, turn, folder))
            continue
        files = []
        for path, stored in named.items():
            if stored not in taken:
                found = take_file(source / FILES, stored, folder.blobs, min(LIMITS.file_bytes, LIMITS.total_bytes - total))
                if isinstance(found, str):
                    raise InvalidFileError(f"{source / FILES}: {shown(stored)} {found}")
                taken[stored] = found
                total += found.size
            files.append(DeliveredFile(path, taken[stored].sha256, taken[stored].size))
        trees.append(Delivery(turn, tuple(files)))
    return trees


def _take_folder(source: Path, name: str, turn: int, folder: RunFolder) -> Delivery:
    place = source / FILES
    for part in name.split("/"):
        place = place / part
        if place.is_symlink() or not place.is_dir():
            raise InvalidFileError(f"{source / FILES}: {shown(name)} is a link or no folder")
    tree = take_tree(place, turn, folder.blobs, LIMITS)
    if len(tree.files) > MAX_FILES:
        raise InvalidFileError(f"{place}: holds more than {MAX_FILES:,} files")
    return tree


# -- the record ---------------------------------------------------------------------------------------------------------


def _free_key(folder: RunFolder, alias: str, task: str, digest: str) -> SessionKey:
    """The next repeat. The same session is refused."""
    repeat = 1
    while folder.session_path(key := SessionKey(alias, task, repeat)).exists():
        if folder.state(key).identity.get("imported", {}).get("sha256") == digest:
            raise UsageError(f"{folder.root}: holds this session already, as {key.id}", hint="Choose another --out to import it again.")
        repeat += 1
    return key


@contextmanager
def _undone_on_failure(folder: RunFolder) -> Iterator[None]:
    """Remove what was added below blobs/, tasks/ and the stage if anything fails."""
    before = {path for part in ("blobs", "tasks") for path in (folder.root / part).rglob("*") if path.is_file()}
    try:
        yield
    except BaseException:
        for part in ("blobs", "tasks"):
            for path in (folder.root / part).rglob("*"):
                if path.is_file() and path not in before:
                    path.unlink(missing_ok=True)
        raise
    finally:
        shutil.rmtree(folder.root / ".import", ignore_errors=True)


def _store(folder: RunFolder, key: SessionKey, task: Task, session: ImportedSession, digest: str, trees: list[Delivery]) -> None:
    stage = folder.root / ".import"
    shutil.rmtree(stage, ignore_errors=True)
    events, sealed = EventLog(stage / "events.jsonl"), EventLog(stage / "sealed.jsonl", mode=0o600)
    identity = _identity(key, task, session, digest)
    try:
        events.append({"type": "session", "schema_version": VERSION, "identity": identity, "digest": digest_of(identity)})
        _converse(events, sealed, task, session, trees, folder.blobs)
        events.append(end_event(session.end.reason, session.end.why, ""))
        told = {"type": "imported", "belief": session.task.belief, "stated_by_turn": session.end.stated_by_turn}
        sealed.append({**told, "not_read": unknown(session)})
    finally:
        events.close()
        sealed.close()
    folder.write_tasks((task,))
    folder.write_manifest(_manifest(folder, key.agent))
    folder.session_path(key).parent.mkdir(parents=True, exist_ok=True)
    stage.rename(folder.session_path(key))  # from here on the session is there


def _identity(key: SessionKey, task: Task, session: ImportedSession, digest: str) -> dict[str, Any]:
    return {
        "task": {"id": task.id, "digest": digest_of(to_json(task))},
        "repeat": key.repeat,
        "agent": {"id": key.agent, "distribution": ELSEWHERE, "version": session.agent_version, "options": {}},
        "simulator": {"id": ELSEWHERE},
        "imported": {"sha256": digest, "with": version("finassay")},
    }


def _converse(events: EventLog, sealed: EventLog, task: Task, session: ImportedSession, trees: list[Delivery], blobs: Blobs) -> None:
    """The conversation as a session of our own would have recorded it; what the user told is read from the words."""
    by_turn = {tree.turn: tree for tree in trees}
    disclosure, scene = Disclosure(task.belief), Scene(task, _nobody(task.persona), Conversation())
    last = session.conversation[-1]
    for said in session.conversation:
        message = Message(f"{said.sender[0]}{said.turn}", said.turn, said.sender, said.text, said.cut)
        if said.sender == "user":
            action = "open" if said.turn == 0 else "close" if said is last and session.end.reason == "satisfied" else "continue"
            agent = scene.conversation.last("agent")
            heard = disclosure.read(said.text, agent.text if agent else "", opening=said.turn == 0)
            label = labelled(said.text, action, scene, disclosure, heard)
            disclosure = heard.after
            sealed.append(*disclosure_events(said.turn, heard, label), sync=False)
            events.append(user_event(message, labelled_turn(UserTurn(said.turn, action, 0), label), said.seconds or 0.0), sync=False)
        else:
            known = tuple(tree for tree in trees if tree.turn <= said.turn)
            scene = evolve(scene, excerpts=excerpts(known, blobs), files=tuple(f.path for f in known[-1].files), cut=said.cut)
            log = tuple(LogEvent(e.turn, e.kind, e.data, e.seconds) for e in session.log if e.turn == said.turn)
            facts = TurnFacts(said.turn, said.seconds or 0.0, said.cut)
            events.append(agent_event(message, by_turn[said.turn], facts, log, Usage()), sync=False)
        scene = evolve(scene, conversation=scene.conversation.with_message(message))


def _nobody(name: str) -> Persona:
    """Stands for a user of whom only the name is known."""
    return Persona(name, name, "", "", (), (), (), Voice(*[()] * len(fields(Voice))))


def _manifest(folder: RunFolder, agent: str) -> dict[str, Any]:
    old = folder.manifest() if folder.exists() else {}
    settings = old.get("settings") or RunSettings(agents={}, simulator=Choice(id=ELSEWHERE)).model_dump(mode="json")
    settings = {
        **settings,
        "agents": {**settings.get("agents", {}), agent: settings.get("agents", {}).get(agent, {"id": agent, "options": {}})},
    }
    return {
        **{k: v for k, v in old.items() if k not in ("kind", "schema_version")},
        "created": old.get("created") or datetime.now(UTC).isoformat(timespec="seconds"),
        "settings": settings,
        "versions": {**old.get("versions", {}), "finassay": version("finassay")},
    }


def installed(catalog: Catalog, channels: tuple[str, ...]) -> tuple[str, ...]:
    """The named channels, each of which must be installed. Raises `CatalogError`."""
    for name in channels:
        try:
            catalog.create("channel", name)
        except CatalogError as error:
            raise UsageError(f"channel {name!r} cannot be used: {error}", hint=error.hint) from error
    return channels
