"""What a folder of labelled material holds, whatever it lacks: questions and what of them is understood, documents, answers."""

from collections import Counter
from pathlib import Path
from typing import Any, Final

from finassay.api.errors import FinassayError, InvalidFileError
from finassay.api.research import Question
from finassay_rubrics.grading.asked import keyed
from finassay_rubrics.measure.responses import labelled
from finassay_rubrics.measure.rows import found, left_out, rows_of
from finassay_rubrics.measure.statements import FolderSource
from finassay_rubrics.metrics.ask import understand

MAX_REASONS: Final = 200


def holdings_json(folder: Path) -> dict[str, Any] | str:
    """Counts of each part that is there, or why there is none. Raises `InvalidFileError`."""
    parts = {"questions": _questions(folder), "corpus": _corpus(folder), "responses": _responses(folder)}
    told = {name: part for name, part in parts.items() if part is not None}
    return told or "no questions.jsonl, no corpus/, no responses.jsonl"


def _questions(folder: Path) -> dict[str, Any] | None:
    """How many questions there are, have a key of one figure, and are understood by rule; the others with their reasons."""
    path = found(folder, "questions")
    if path is None:
        return None
    rows = list(rows_of(path, ("question",)))
    single = [row for row in rows if keyed(str(row["question"]), str(row.get("answer") or ""), str(row.get("company") or "")) is not None]
    refused = []
    for row in single:
        try:
            understand(Question(str(row.get("financebench_id") or ""), str(row["question"])))
        except FinassayError as error:
            refused.append({"question": str(row.get("financebench_id") or row["question"])[:80], "reason": str(error)[:200]})
    return {
        "questions": len(rows),
        "companies": len({str(row["company"]) for row in rows if row.get("company")}),
        "with_a_key_of_one_figure": len(single),
        "of_these_understood_by_rule": len(single) - len(refused),
        "not_understood": refused[:MAX_REASONS],
    }


def _corpus(folder: Path) -> dict[str, Any] | None:
    """How many documents and pages there are, and how many documents have a date: no other is there for anybody."""
    corpus = folder / "corpus"
    if not corpus.is_dir():
        return None
    items = FolderSource(folder).items
    names = sorted({path.name.removesuffix(".gz").removesuffix(".jsonl") for path in corpus.iterdir() if ".jsonl" in path.name})
    pages = 0
    for name in names:
        try:
            pages += sum(1 for _ in rows_of(found(corpus, name), ("page", "text")))
        except InvalidFileError as error:
            left_out(str(corpus / name), f"cannot be read: {error}")
    return {
        "documents": len(names),
        "pages": pages,
        "dated": sum(items[name].published is not None for name in names if name in items),
        "not_in_documents_jsonl": sum(name not in items for name in names),
    }


def _responses(folder: Path) -> dict[str, Any] | None:
    """How many answers there are, by label and to how many questions."""
    if found(folder, "responses") is None:
        return None
    rows = list(labelled(folder, ("human_label",)))
    return {
        "labelled": len(rows),
        "questions": len({str(row["financebench_id"]) for row in rows if row.get("financebench_id") is not None}),
        "labels": dict(Counter(str(row["human_label"]) for row in rows).most_common(20)),
    }
