"""One scene as a folder: what is asked, what was answered, and what was refused."""

import hashlib
import json
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

from attrs import frozen

from finassay.api.errors import ProviderError
from finassay.api.simulator import Rejection, Scene
from finassay_simulator_person.forms import MAX_ANSWER, FormError
from finassay_simulator_person.sheet import Sheet, as_data, as_page, line, sheet

T = TypeVar("T")

ANSWERS: Final = ("decision.json", "decision.txt")
SETTLED: Final = 0.3
"""Seconds that an answer must have lain unchanged, so that nobody's half-written file is read."""

HOW_TO_OPEN: Final = (
    """Write your message, and nothing else, into the file `decision.txt` in this folder, or `{"message": "..."}` into `decision.json`."""
)
HOW_TO_DECIDE: Final = """Write a file `decision.txt` into this folder: fields, a line of dashes, your message. For example:

```
{example}
```

`action` is one of clarify (you answer), follow_up (you push on), challenge (you point out what does not fit), close (you have what you
wanted), block (you leave). Behind each goal stand what you see (met, missing, uncertain, not_applicable) and what shows it: ids of messages
or paths of files. A goal that you leave out counts as missing. challenge and block need `evidence: a1`, block also `reason:` with one of
stalled, repeated, ignored_objection, refused, gave_up, off_topic. You may close only when every core goal is met, and what you cite shows it.
Programs write `decision.json`: {{"action", "message", "observations": [{{"goal", "status", "citations"}}], "evidence", "block_reason"}}; `scene.json`
holds this page as data. If an answer cannot be taken, it is put aside and a file `refused-N.md` says why; then answer again."""


def name_of(scene: Scene) -> str:
    """A name for a scene's folder: the turn, the task, and a digest of what was said, so that a resumed session finds its answer again."""
    said = [[m.id, m.text, m.cut] for m in scene.conversation.messages]
    whole = json.dumps([scene.task.id, scene.persona.id, scene.seed, said, list(scene.files), [[e.path, e.text] for e in scene.excerpts]])
    turn = len(scene.conversation.of("agent"))
    task = re.sub(r"[^A-Za-z0-9_-]+", "-", scene.task.id).strip("-")[:60] or "task"
    return f"{task}-turn-{turn:02d}-{hashlib.sha256(whole.encode('utf-8', 'surrogatepass')).hexdigest()[:10]}"


def write_whole(path: Path, text: str) -> None:
    """Write a file so that nobody sees half of it; readable by its owner alone, because a scene holds the belief."""
    scratch = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as stream:
            stream.write(text)
        os.replace(scratch, path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


@frozen
class SceneFolder:
    """Where one scene waits for its answer. Raises `OSError` where the folder cannot be written."""

    path: Path

    @classmethod
    def of(cls, root: Path, scene: Scene) -> "SceneFolder":
        """The folder of a scene, made and filled if it is not there."""
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = cls(root / name_of(scene))
        folder.path.mkdir(mode=0o700, exist_ok=True)
        if not (folder.path / "scene.md").exists():
            asked = sheet(scene)
            write_whole(folder.path / "scene.json", json.dumps(as_data(asked), ensure_ascii=False, indent=1) + "\n")
            write_whole(folder.path / "scene.md", as_page(asked, _how(asked)))
        return folder

    def refuse(self, reasons: Sequence[str]) -> None:
        """Put the answer aside and say why it could not be taken: of all reasons so far those that are new, if any is."""
        earlier = "".join(path.read_text("utf-8") for path in self.path.glob("refused-*.md"))
        number = 1 + sum(1 for _ in self.path.glob("refused-*.md"))
        reasons = [reason for reason in reasons if f"- {line(reason, 600)}\n" not in earlier] or reasons
        for name in ANSWERS:
            answer = self.path / name
            if answer.exists() or answer.is_symlink():
                os.replace(answer, answer.with_name(f"refused-{number}-{name}"))
        listed = "\n".join(f"- {line(reason, 600)}" for reason in reasons)
        write_whole(self.path / f"refused-{number}.md", f"# Not taken\n\n{listed}\n\nAnswer again: write a new decision file.\n")

    def wait(self, read: Callable[[str, bool], T], seconds: float, poll: float) -> T:
        """The answer, read by `read(text, is_json)`; one that cannot be read is refused and waited for again.

        Raises `ProviderError` when the time is up: the session waits, and an answer that comes later is taken when the run goes on.
        """
        ends = time.monotonic() + seconds
        while True:
            answer = next((self.path / name for name in ANSWERS if os.path.lexists(self.path / name)), None)
            if answer is not None:
                try:
                    text = _settled(answer)
                    if text is not None:
                        return read(text, answer.suffix == ".json")
                except FormError as error:
                    self.refuse([str(error)])
                except FileNotFoundError:  # taken away again while it was looked at
                    pass
            if time.monotonic() >= ends:
                raise ProviderError(
                    f"nobody answered in {self.path} within {_spoken(seconds)}",
                    hint="Write the decision file, then run the same command again: the session goes on from there.",
                )
            time.sleep(min(poll, max(0.0, ends - time.monotonic())))


def _settled(path: Path) -> str | None:
    """The text of a file that nobody is writing just now, else None. Raises `FormError` for what is no readable text file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise FormError("it is no regular file")
        if status.st_size > MAX_ANSWER:
            raise FormError(f"it is larger than {MAX_ANSWER:,} bytes")
        if 0 <= time.time() - status.st_mtime < SETTLED:
            return None
        data = os.read(descriptor, MAX_ANSWER + 1)
    finally:
        os.close(descriptor)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FormError("it is not in UTF-8") from None


def _spoken(seconds: float) -> str:
    """A span of time for people."""
    for unit, length in (("days", 86_400.0), ("hours", 3_600.0), ("minutes", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:g} {unit}"
    return f"{seconds:g} seconds"


def _how(asked: Sheet) -> str:
    if asked.kind == "open":
        return HOW_TO_OPEN
    example = ["action: clarify", *(f"{goal.id}: missing" for goal in asked.goals), "---", "Your message."]
    return HOW_TO_DECIDE.format(example="\n".join(example))


def reasons_of(rejections: Sequence[Rejection], scene: Scene) -> list[str]:
    """Reasons of refusals, each once, with the ids of items put into words."""
    belief = scene.task.belief
    names = {item.id: f"'{item.sentence}' ({item.piece})" for item in (*belief.items, *belief.absent)}
    known = re.compile("|".join(rf"(?<![\w.]){re.escape(name)}(?![\w:])" for name in sorted(names, key=len, reverse=True)) or r"(?!)")
    return list(dict.fromkeys(known.sub(lambda hit: names[hit[0]], rejection.reason) for rejection in rejections))
