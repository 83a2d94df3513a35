"""What an agent hands over is bounded, recorded and never executed."""

import io
import json
import pickle
import struct
import time
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import openpyxl
import pandas as pd
import pytest
from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from finassay.api.delivery import Delivery, Rejected
from finassay_checks.delivered import Reading, read_delivery
from finassay_checks.facts.late_rows import late_rows
from finassay_checks.facts.prices_in_use import price_quality
from finassay_checks.model import Delivered
from finassay_checks.reading import files as kinds
from finassay_checks.reading.files import read_file
from finassay_checks.reading.limits import DEFAULT_LIMITS, ReadLimits, Unreadable
from finassay_checks.reading.text import plain, shown

from .deliveries import Bytes, clean_delivery, make_package, simulate

SUFFIXES = sorted(
    {*kinds.TABLES, *kinds.DOCUMENTS, *kinds.CODE, *kinds.ARCHIVES, *kinds.OBJECTS, ".unknown"}
    - {".xls", ".ods", ".xlsm", ".xlsb", ".xlsx", ".pdf"}
)
"""Every kind that is read in this process; workbooks and PDF start a process each and have tests of their own."""


def read(tmp_path: Path, files: dict[str, Bytes], limits: ReadLimits = DEFAULT_LIMITS) -> Delivered:
    return Reading(make_package(tmp_path, files), limits).delivered()


def only_finding(tmp_path: Path, files: dict[str, Bytes], limits: ReadLimits = DEFAULT_LIMITS) -> str:
    found = read(tmp_path, files, limits)
    assert not found.tables
    assert len(found.findings) == 1
    return found.findings[0].check


def workbook(rows: list[list[object]]) -> bytes:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def with_member(data: bytes, name: str, content: bytes) -> bytes:
    """The same container with one member's content replaced."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for member in old.infolist():
            new.writestr(member.filename, content if member.filename == name else old.read(member))
    return buffer.getvalue()


class Bomb:
    """Unpickling it would write a file."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self.target,))


@pytest.mark.parametrize("name", ["model.pkl", "frame.pickle", "cache.joblib", "data.npy", "store.h5", "run.sqlite"])
def test_objects_are_never_opened(tmp_path: Path, name: str) -> None:
    target = tmp_path / "executed"
    assert only_finding(tmp_path, {name: pickle.dumps(Bomb(target))}) == "object-not-opened"
    assert not target.exists()


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.csv.gz", "a.7z", "a.npz"])
def test_archives_are_never_opened(tmp_path: Path, name: str) -> None:
    assert only_finding(tmp_path, {name: b"PK\x03\x04anything"}) == "archive-not-opened"


def test_a_pickle_that_calls_itself_a_table_is_no_table(tmp_path: Path) -> None:
    target = tmp_path / "executed"
    for name in ("prices.csv", "prices.parquet", "prices.json", "report.md"):
        found = read(tmp_path, {name: pickle.dumps(Bomb(target), protocol=4)})
        assert not any(t.role != "unknown" for t in found.role_tables)
    assert not target.exists()


def test_zip_bomb_in_a_workbook(tmp_path: Path) -> None:
    bomb = with_member(workbook([["date", "close"], ["2016-01-04", 1.0]]), "xl/worksheets/sheet1.xml", b"0" * (80 * 2**20))
    assert len(bomb) < 2**20
    assert only_finding(tmp_path, {"prices.xlsx": bomb}, evolve(DEFAULT_LIMITS, expanded_bytes=2**26)) == "too-large"


def test_a_container_that_lies_about_its_size(tmp_path: Path) -> None:
    """The directory declares a few bytes, the data expands to many: what is declared is not believed."""
    packed = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = packed.compress(b"0" * (40 * 2**20)) + packed.flush()
    name = b"xl/worksheets/sheet1.xml"
    checksum = zlib.crc32(b"0" * 10)
    local = struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, 0, 8, 0, 0, checksum, len(body), 10, len(name), 0) + name + body
    central = struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 20, 20, 0, 8, 0, 0, checksum, len(body), 10, len(name), 0, 0, 0, 0, 0, 0) + name
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, len(central), len(local), 0)
    assert only_finding(tmp_path, {"prices.xlsx": local + central + end}, evolve(DEFAULT_LIMITS, expanded_bytes=2**24)) == "too-large"


def test_a_sheet_that_spans_the_whole_grid(tmp_path: Path) -> None:
    sheet = (
        b'<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
        b'<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData></worksheet>'
    )
    assert only_finding(tmp_path, {"prices.xlsx": with_member(workbook([["a"]]), "xl/worksheets/sheet1.xml", sheet)}) == "too-large"


@pytest.mark.parametrize("name", ["a.xlsx", "a.xls", "a.ods", "a.pdf"])
@pytest.mark.parametrize("data", [b"", b"PK\x03\x04" + b"\0" * 64, b"%PDF-1.4\n%%EOF", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\xff" * 600])
def test_broken_workbooks_and_pdf_are_findings(tmp_path: Path, name: str, data: bytes) -> None:
    assert only_finding(tmp_path, {name: data}) in ("unreadable-file", "too-large")


def test_formula_cells_are_text(tmp_path: Path) -> None:
    rows = "ticker,side,shares,price,date\n=cmd|'/C calc'!A0,BUY,10,100,2016-01-04\nKO,SELL,=1+1,100,2016-01-05\n"
    found = read(tmp_path, {"trades.csv": rows})
    assert found.tables[0].frame["ticker"].tolist() == ["=cmd|'/C calc'!A0", "KO"]
    sheet = read(tmp_path / "x", {"t.xlsx": workbook([["name", "value"], ["sharpe", '=HYPERLINK("http://x")'], ["max_dd", -0.2]])})
    assert [f.check for f in sheet.findings] == ["formula-without-value"]
    assert sheet.tables[0].frame["value"].isna().tolist() == [True, False]


def test_infinities_and_nan_are_empty_cells(tmp_path: Path) -> None:
    prices = simulate(0).prices.copy()
    prices["close"] = prices["close"].astype(object)
    prices.iloc[100, 2], prices.iloc[101, 2], prices.iloc[102, 2] = "inf", "NaN", "-Infinity"
    package = make_package(tmp_path, {"prices.csv": prices})
    (quality,) = package.fact(price_quality).values()
    assert quality.counts["m"] == 3


def test_deeply_nested_json(tmp_path: Path) -> None:
    assert only_finding(tmp_path, {"deep.json": "[" * 200_000 + "]" * 200_000}) == "unreadable-file"


def test_nested_json_without_tables_ends(tmp_path: Path) -> None:
    value: object = 1
    for level in range(500):
        value = {f"k{level}": value, "a": [value, value] if level < 9 else 1}
    started = time.monotonic()
    read(tmp_path, {"nested.json": json.dumps(value)})
    assert time.monotonic() - started < 20


def test_absurdly_wide_table(tmp_path: Path) -> None:
    text = ",".join(f"c{i}" for i in range(30_000)) + "\n" + ",".join("1" for _ in range(30_000)) + "\n"
    assert only_finding(tmp_path, {"wide.csv": text}) == "too-large"


def test_limits_of_size_and_number(tmp_path: Path) -> None:
    big = simulate(0).prices
    assert only_finding(tmp_path / "a", {"prices.csv": big}, evolve(DEFAULT_LIMITS, table_bytes=1_000)) == "too-large"
    assert only_finding(tmp_path / "b", {"prices.csv": big}, evolve(DEFAULT_LIMITS, rows=100)) == "too-large"
    assert only_finding(tmp_path / "c", {"prices.parquet": big}, evolve(DEFAULT_LIMITS, rows=100)) == "too-large"
    assert only_finding(tmp_path / "d", {"prices.csv": big}, evolve(DEFAULT_LIMITS, delivery_bytes=100)) == "too-large"
    many = read(tmp_path / "e", {f"f{i}.csv": f"a,b\n{i},2\n" for i in range(30)}, evolve(DEFAULT_LIMITS, files=10))
    assert [f.check for f in many.findings] == ["too-many-files"]
    assert len(many.tables) == 10


def test_a_sparse_two_gigabyte_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "huge"
    with open(path, "wb") as stream:
        stream.truncate(2 * 2**30)
    with pytest.raises(Unreadable) as error:
        read_file(path, "prices.csv", DEFAULT_LIMITS)
    assert error.value.check == "too-large"


def test_what_intake_rejected_is_a_finding(tmp_path: Path) -> None:
    package = make_package(tmp_path, clean_delivery(0))
    rejected = Delivery(1, package.deliveries[0].files, (Rejected("evil\x1b[31m", "is a link"), Rejected("pipe", "is no regular file")))
    found = evolve(package, deliveries=(rejected,), facts={}).fact(read_delivery)
    assert [(f.check, f.file) for f in found.findings] == [("not-taken", "evil"), ("not-taken", "pipe")]


def test_missing_bytes_are_a_finding(tmp_path: Path) -> None:
    package = make_package(tmp_path, {"prices.csv": "date,close\n"})
    for blob in (tmp_path / "blobs").iterdir():
        blob.unlink()
    assert [f.check for f in package.fact(read_delivery).findings] == ["unreadable-file"]


def test_escapes_and_markup_in_names_and_text(tmp_path: Path) -> None:
    files: dict[str, Bytes] = {
        "REPORT.md": "# Report \x1b[2J\x1b]0;title\x07\n\nThe Sharpe ratio is 1.25\x00\x08.\n\n| \x1b[31mmetric | value |\n|---|---|\n| <script>alert(1)</script> | 2 |\n",
    }
    found = read(tmp_path, files)
    assert "\x1b" not in found.documents[0].text
    assert "\x00" not in found.documents[0].text
    assert not any("\x1b" in str(c) for t in found.tables for c in t.frame.columns)
    assert shown("a\x1b[31mred\x1b[0m\nb\u202ec") == "ared bc"
    assert len(shown("x" * 10_000)) == 300
    assert plain("a\r\nb\tc") == "a\nb\tc"


@pytest.mark.parametrize(
    "text",
    [
        "|" * 200_000,
        "| a |\n" * 100_000,
        "|-" * 100_000 + "\n" + "|-" * 100_000,
        "*" * 300_000,
        "[" * 300_000,
        "# " * 200_000,
        "`" * 300_000,
        "returned " + "1" * 100_000 + "%",
        "Sharpe " + "of " * 50_000 + "1.2",
        "a" * 500_000,
        "net " * 100_000 + "return 5%.",
        "12 Jan 2016 to " * 30_000,
        "total " * 60_000,
        "9" * 50_000 + " trades",
        "Sharpe ratio = " * 20_000 + "\n",
        "|1" * 50_000 + "\n|" + "-|" * 50_000 + "\n" + "|1" * 50_000,
    ],
    ids=range(16),
)
def test_reports_made_to_be_slow(tmp_path: Path, text: str) -> None:
    started = time.monotonic()
    read(tmp_path, {"REPORT.md": "# Summary\n\n" + text, "page.html": "<table><tr><td>" * 500 + text[:100_000]})
    assert time.monotonic() - started < 15


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    return tmp_path_factory.mktemp("fuzz")


_PIECES = st.sampled_from(
    [
        b",",
        b"\n",
        b";",
        b"|",
        b'"',
        b"date",
        b"2016-01-04",
        b"1e999",
        b"-",
        b"{",
        b"}",
        b"[",
        b"]",
        b'"a":',
        b"<table>",
        b"<td>",
        b"\xff",
        b"\0",
        b"| a | b |\n|---|---|\n",
        b"PAR1",
        b"NaN",
        b"inf",
        b"AAPL",
        b"ticker",
        b"side",
        b"BUY",
        b"shares",
        b"price",
        b"1",
        b"0.5",
        b"equity",
        b"Sharpe",
        b"%",
        b"(",
        b"=1+1",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"True",
        b"on",
    ]
)
_BYTES = st.one_of(
    st.binary(max_size=400),
    st.lists(_PIECES, max_size=120).map(b"".join),
    st.lists(_PIECES, max_size=60).map(lambda p: b",".join(p) + b"\n" + b",".join(p) + b"\n" + b",".join(p)),
)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(suffixes=st.lists(st.sampled_from(SUFFIXES), min_size=1, max_size=4), data=_BYTES, other=_BYTES)
def test_no_bytes_crash_reading(folder: Path, suffixes: list[str], data: bytes, other: bytes) -> None:
    files: dict[str, Bytes] = {f"results/trades{suffix}": data for suffix in suffixes} | {
        "prices.csv": other,
        "REPORT.md": data + b"\n" + other,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        package = make_package(folder, files, messages=("Go.", data.decode("latin-1")))
        found = package.fact(read_delivery)
        package.fact(late_rows)
        package.fact(price_quality)
    assert not [f for f in found.findings if f.check == "no-role"], found.findings


@settings(max_examples=12, deadline=None)
@given(
    columns=st.lists(
        st.sampled_from(
            [
                "date",
                "ticker",
                "side",
                "shares",
                "price",
                "fee",
                "equity",
                "ret",
                "weight",
                "score",
                "rank",
                "AAPL",
                "KO",
                "reason",
                "cash",
                "",
                "close",
                "entry_date",
                "exit_date",
            ]
        ),
        min_size=1,
        max_size=8,
    ),
    rows=st.lists(
        st.lists(
            st.sampled_from(
                [
                    "2016-01-04",
                    "2016-13-45",
                    "AAPL",
                    "ko",
                    "BUY",
                    "1",
                    "-1",
                    "0.5",
                    "",
                    "nan",
                    "1e308",
                    "99999999999999999999",
                    "20160104",
                    "x",
                    "12%",
                    "true",
                    "OPEN",
                ]
            ),
            min_size=8,
            max_size=8,
        ),
        max_size=12,
    ),
    name=st.sampled_from(
        ["prices.csv", "weights.csv", "metrics.csv", "signals.csv", "universe.csv", "equity.csv", "positions.csv", "states.csv"]
    ),
)
def test_no_cells_crash_the_roles(folder: Path, columns: list[str], rows: list[list[str]], name: str) -> None:
    body = "\n".join([",".join(columns), *(",".join(row[: len(columns)]) for row in rows)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        package = make_package(folder, {"results/trades.csv": body, name: body})
        found = package.fact(read_delivery)
        package.fact(late_rows)
        package.fact(price_quality)
    assert not [f for f in found.findings if f.check == "no-role"], found.findings


def test_parquet_with_nested_columns_and_random_damage(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    pd.DataFrame({"date": ["2016-01-04"], "deep": [[{"a": [1, 2]}]]}).to_parquet(buffer)
    data = buffer.getvalue()
    assert len(read(tmp_path / "ok", {"a.parquet": data}).tables) == 1
    for position in range(4, len(data), 97):
        damaged = data[:position] + bytes([data[position] ^ 0xFF]) + data[position + 1 :]
        read(tmp_path / "damaged", {"a.parquet": damaged})
