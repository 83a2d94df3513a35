"""Folders of documents for tests."""

import gzip
import json
from pathlib import Path

INCOME = "Acme Tools Co. consolidated statements of income\nIn millions\n2019 2018\nRevenue 1,234 1,100\nNet income 86 70\n"


def filing(folder: Path, name: str, pages: list[str]) -> None:
    with gzip.open(folder / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
        for number, text in enumerate(pages, start=1):
            file.write(json.dumps({"page": number, "text": text}) + "\n")


def filings(root: Path) -> Path:
    """The shape of FinanceBench: a corpus folder, the metadata beside it, and files that are no documents."""
    corpus = root / "corpus"
    corpus.mkdir(parents=True)
    cover = "FORM 10-K\nFor the fiscal year ended December 31, 2019\nACME TOOLS COMPANY, INC.\n(Exact name of registrant as specified in its charter)"
    filing(corpus, "ACME_2019_10K", [cover, INCOME, "Risk factors: tariffs on steel."])
    filing(corpus, "ACME_2018_10K", ["Annual report of the company for 2018", INCOME.replace("1,234", "999")])
    filing(corpus, "ZETA_2019_10K", ["annual report, undated", "Zeta revenue 77"])
    filing(corpus, "EARLY_2019_10K", [cover, "annual report of the company, dated before its period ended; revenue 5"])
    rows = [
        {
            "doc_name": "ACME_2019_10K",
            "company": "Acme Tools",
            "form": "10k",
            "period": 2019,
            "signed": "2020-02-20",
            "signed_basis": "signature page",
        },
        {
            "doc_name": "ACME_2018_10K",
            "company": "Acme Tools",
            "form": "10k",
            "period": 2018,
            "signed": "2019-02-20",
            "signed_basis": "signature page",
        },
        {"doc_name": "ZETA_2019_10K", "company": "Zeta", "form": "10k", "period": 2019, "signed": None, "signed_basis": None, "pages": 2},
        {
            "doc_name": "EARLY_2019_10K",
            "company": "Early",
            "form": "10k",
            "period": 2019,
            "signed": "2020-01-03",
            "signed_basis": "signature page",
        },
        {
            "doc_name": "GONE_2019_10K",
            "company": "Gone",
            "form": "10k",
            "period": 2019,
            "signed": "2020-01-08",
            "signed_basis": "signature page",
        },
    ]
    (root / "documents.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (root / "questions.jsonl").write_text(json.dumps({"question": "What is revenue?", "answer": "1,234"}) + "\n", "utf-8")
    return corpus
