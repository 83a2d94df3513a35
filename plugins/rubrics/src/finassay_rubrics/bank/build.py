"""Building a bank, step by step on disk: whatever is finished stands, and the same command goes on after it."""

import hashlib
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import Factory, frozen

from finassay.api.embedding import Embedding
from finassay.api.errors import InvalidFileError, UsageError
from finassay.api.guidance import Guidance
from finassay.records.files import read_json, write_atomically, write_json
from finassay_rubrics.bank.asking import Part, asks_nothing
from finassay_rubrics.bank.bank import FILE
from finassay_rubrics.bank.cluster import clusters
from finassay_rubrics.bank.criteria import CriteriaWriter, ModelWriter, Written
from finassay_rubrics.bank.sign import NOTHING_KNOWN, Signer
from finassay_rubrics.bank.signature import Signature
from finassay_rubrics.bank.vocabulary import vocabulary

PLAN: Final = "build.json"
SIGNATURES: Final = "signatures.jsonl"
TASKS: Final = "tasks.json"
CRITERIA: Final = "criteria"
REFUSED: Final = "refused.jsonl"
Told = Callable[[str, int, int], None]


@frozen
class Task:
    """A cluster's task before it is screened."""

    id: str
    signature: Signature
    queries: int
    members: tuple[str, ...]
    """Texts of the signatures that it stands for, its own first."""


@frozen
class Builder:
    """What a bank is built with."""

    folder: Path
    queries: Sequence[str]
    signer: Signer
    embedding: Embedding
    writers: tuple[CriteriaWriter, CriteriaWriter]
    guidance: Guidance
    most: int = 200
    told: Told = lambda what, done, of: None
    seconds: dict[str, float] = Factory(dict)
    """How long each step took; filled while it runs."""

    def run(self) -> list[Task]:
        """Every step that is not done yet. Raises `UsageError` where the folder holds another build or a frozen bank."""
        from filelock import FileLock

        self.folder.mkdir(parents=True, exist_ok=True)
        with FileLock(self.folder / ".lock"):
            self._begin()
            signatures = self._timed("signatures", lambda: self._signed())
            tasks: list[Task] = self._timed("clusters", lambda: self._tasks(signatures))
            self._timed("criteria", lambda: self._criteria(tasks))
            return tasks

    def _timed(self, name: str, call: Callable[[], Any]) -> Any:
        started = time.perf_counter()
        result = call()
        self.seconds[name] = round(time.perf_counter() - started, 3)
        return result

    # -- the plan -----------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        if (self.folder / FILE).exists():
            raise UsageError(f"{self.folder} holds a frozen bank", hint="A frozen bank is never changed; build into another folder.")
        plan = self._plan()
        path = self.folder / PLAN
        if not path.exists():
            write_json(path, plan)
            return
        old = read_json(path, "the plan of a bank's build")
        differs = [name for name in plan if not isinstance(old, Mapping) or old.get(name) != plan[name]]
        if differs:
            raise UsageError(f"{self.folder} holds a build with another {', '.join(differs)}", hint="Build into another folder.")

    def _plan(self) -> dict[str, Any]:
        return {
            "queries": hashlib.sha256("\0".join(self.queries).encode("utf-8", "surrogatepass")).hexdigest(),
            "number": len(self.queries),
            "signer": " ".join(filter(None, (self.signer.id, getattr(self.signer, "identity", "")))),
            "embedding": f"{self.embedding.id} {self.embedding.version}",
            "writers": [self._writer(writer) for writer in self.writers],
            "guidance": f"{self.guidance.id} {self.guidance.version}",
            "tasks": self.most,
            "vocabulary": vocabulary().digest,
        }

    def _writer(self, writer: CriteriaWriter) -> dict[str, Any]:
        prompt = writer.identity(self.guidance) if isinstance(writer, ModelWriter) else ""
        return {"id": writer.id, "family": writer.family, **({"prompt_sha256": prompt} if prompt else {})}

    # -- signatures ---------------------------------------------------------------------------------------------------

    def _signed(self) -> list[Signature]:
        """A signature for each query that asks for something; those that were written down are taken from there. The others are listed.

        Raises `UsageError` where no query asks for anything.
        """
        path = self.folder / SIGNATURES
        known = dict(_kept(path))
        signed: list[Signature] = []
        refused: list[dict[str, Any]] = []
        with path.open("a", encoding="utf-8") as file:
            for number, query in enumerate(self.queries, start=1):
                key = hashlib.sha256(query.encode("utf-8", "surrogatepass")).hexdigest()[:24]
                if key not in known:
                    signature, note = self.signer.sign(query)
                    why = asks_nothing(query, signature.parts) or (note if signature == NOTHING_KNOWN else "")
                    more = {name: text for name, text in (("note", note), ("refused", why)) if text}
                    file.write(json.dumps({"query": key, **signature_json(signature), **more}) + "\n")
                    if self.signer.id != "rules":
                        file.flush()
                    known[key] = (signature, why)
                signature, why = known[key]
                if why:
                    refused.append({"number": number, "query": query, "why": why})
                else:
                    signed.append(signature)
                if number % 500 == 0 or number == len(self.queries):
                    self.told("signatures", number, len(self.queries))
        write_atomically(self.folder / REFUSED, "".join(json.dumps(row) + "\n" for row in refused).encode())
        if not signed:
            raise UsageError(
                f"no task can be made: none of the {len(self.queries)} queries asks for financial research",
                hint=f"{self.folder / REFUSED} says of each why; the first {refused[0]['why']}.",
            )
        return signed

    # -- tasks --------------------------------------------------------------------------------------------------------

    def _tasks(self, signatures: Sequence[Signature]) -> list[Task]:
        path = self.folder / TASKS
        if path.exists():
            return [_task(raw) for raw in read_json(path, "the tasks of a bank's build")]
        counted = Counter(signature.text for signature in signatures)
        by_text = {signature.text: signature for signature in signatures}
        texts = sorted(counted)
        vectors = self._vectors([by_text[text] for text in texts])
        weights = [counted[text] for text in texts]
        made: list[Task] = []
        for cluster in clusters(vectors, weights, texts, self.most, modes=[by_text[text].mode for text in texts]):
            center = texts[cluster.center]
            members = (center, *(texts[m] for m in cluster.members if m != cluster.center))
            id = "T" + hashlib.sha256(center.encode()).hexdigest()[:8]
            made.append(Task(id, by_text[center], sum(weights[m] for m in cluster.members), members))
        write_json(path, [_task_json(task) for task in made])
        return made

    def _vectors(self, signatures: Sequence[Signature]) -> Any:
        texts = [signature.about for signature in signatures]
        matrix = getattr(self.embedding, "matrix", self.embedding.embed)
        return matrix(texts)

    # -- criteria -----------------------------------------------------------------------------------------------------

    def _criteria(self, tasks: Sequence[Task]) -> None:
        (self.folder / CRITERIA).mkdir(exist_ok=True)
        for number, task in enumerate(tasks, start=1):
            for place, writer in zip("ab", self.writers, strict=True):
                path = criteria_file(self.folder, task.id, place)
                if not path.exists():
                    write_json(path, _written_json(writer, writer.write(task.signature, self.guidance)))
            self.told("criteria", number, len(tasks))


def amiss(folder: Path, tasks: Sequence[Task]) -> list[str]:
    """What models did not manage, in words: signatures that rules had to make, criteria that were refused, tasks that are left without any."""
    notes = sum('"note": ' in line for line in (folder / SIGNATURES).read_text("utf-8").splitlines())
    written = [read_json(criteria_file(folder, task.id, place), "criteria of a task") for task in tasks for place in "ab"]
    refused = sum(len(one["refused"]) for one in written)
    bare = [task.id for task, a, b in zip(tasks, written[::2], written[1::2], strict=True) if not a["criteria"] and not b["criteria"]]
    told = [f"{notes} signatures are not the signer's own (see {SIGNATURES})"] if notes else []
    out = refused_queries(folder)
    told += (
        [
            f"{len(out)} {'query makes' if len(out) == 1 else 'queries make'} no task (see {REFUSED}), first {plain(out[0]['query'])[:60]!r}: {out[0]['why']}"
        ]
        if out
        else []
    )
    told += [f"{refused} criteria were refused (see {CRITERIA}/)"] if refused else []
    return told + ([f"{len(bare)} tasks have no criterion: {', '.join(bare[:5])}"] if bare else [])


def refused_queries(folder: Path) -> list[dict[str, Any]]:
    """The queries that make no task: number among the queries, text, why. Empty before they were signed."""
    path = folder / REFUSED
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.is_file() else []


def criteria_file(folder: Path, task: str, place: str) -> Path:
    return folder / CRITERIA / f"{task}.{place}.json"


def _written_json(writer: CriteriaWriter, written: Written) -> dict[str, Any]:
    return {
        "writer": writer.id,
        "family": writer.family,
        "criteria": [{"text": c.text, "principles": list(c.principles)} for c in written.criteria],
        "refused": [{"text": text, "why": why} for text, why in written.refused],
    }


def _kept(path: Path) -> Iterator[tuple[str, tuple[Signature, str]]]:
    """The signatures that a file holds, each with why its query is refused; a last line that was cut off is taken out of it."""
    if not path.exists():
        return
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        write_atomically(path, whole)
    for number, line in enumerate(whole.decode("utf-8").splitlines(), start=1):
        try:
            raw = json.loads(line)
            yield raw["query"], (signature_from(raw), str(raw.get("refused", "")))
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidFileError(f"{path}: line {number}: not a signature") from error


def signature_json(signature: Signature) -> dict[str, Any]:
    """A signature as JSON data, with its text beside."""
    return {
        "signature": signature.text,
        "parts": [[part.deliverable, part.metric, *part.ways] for part in signature.parts],
        "issuers": signature.issuers,
        "periods": signature.periods,
        "conventions": list(signature.conventions),
        "frame": list(signature.frame),
    }


def signature_from(raw: Mapping[str, Any]) -> Signature:
    """Raises `KeyError`, `TypeError`, `ValueError` for what is none."""
    parts = tuple(Part(str(deliverable), str(metric), tuple(map(str, ways))) for deliverable, metric, *ways in raw["parts"])
    return Signature(parts, int(raw["issuers"]), int(raw["periods"]), tuple(raw["conventions"]), tuple(raw["frame"]))


def _task_json(task: Task) -> dict[str, Any]:
    return {"id": task.id, "queries": task.queries, **signature_json(task.signature), "members": list(task.members)}


def _task(raw: Mapping[str, Any]) -> Task:
    return Task(raw["id"], signature_from(raw), raw["queries"], tuple(raw["members"]))


def read_tasks(folder: Path) -> list[Task]:
    """The tasks of a build. Raises `InvalidFileError` where it is not finished."""
    if not (folder / TASKS).is_file():
        raise InvalidFileError(f"{folder}: no built bank", hint="Build it: finassay rubric bank build QUERIES --out DIR.")
    return [_task(raw) for raw in read_json(folder / TASKS, "the tasks of a bank's build")]


def plain(text: str) -> str:
    """A text of somebody else on one line, without control characters."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", text).strip()
