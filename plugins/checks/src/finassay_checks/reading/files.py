"""One delivered file to tables, prose and code, by its suffix. What must not be opened is refused here."""

from collections.abc import Callable
from pathlib import Path, PurePosixPath

from finassay_checks.reading.content import Content
from finassay_checks.reading.limits import ReadLimits, Unreadable
from finassay_checks.reading.markdown import prose_content
from finassay_checks.reading.text import decode, plain, read_bytes

DELIMITED = frozenset({".csv", ".tsv", ".tab", ".psv"})
PARQUET = frozenset({".parquet", ".pq"})
JSON = frozenset({".json", ".jsonl", ".ndjson"})
WORKBOOKS = frozenset({".xlsx", ".xlsm", ".xls", ".ods", ".xlsb"})
MARKDOWN = frozenset({".md", ".markdown", ".mdown", ".rst"})
HTML = frozenset({".html", ".htm", ".xhtml"})
XML = frozenset({".xml"})
PLAIN = frozenset({".txt", ".text", ".log", ""})
CODE = frozenset({".py", ".r", ".jl", ".sql", ".sh", ".js", ".ts", ".m", ".yaml", ".yml", ".toml", ".cfg", ".ini", ".mk"})
NOTEBOOKS = frozenset({".ipynb"})
RICH = frozenset({".docx", ".pdf"})
PICTURES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".bmp", ".ico"})
ARCHIVES = frozenset({".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar", ".zst", ".lz4", ".jar", ".whl", ".egg", ".npz"})
OBJECTS = frozenset(
    {
        ".pkl",
        ".pickle",
        ".joblib",
        ".dill",
        ".npy",
        ".pt",
        ".h5",
        ".hdf5",
        ".hdf",
        ".rds",
        ".rdata",
        ".mat",
        ".feather",
        ".db",
        ".sqlite",
        ".sqlite3",
        ".duckdb",
    }
)
DOCUMENTS = MARKDOWN | HTML | PLAIN | NOTEBOOKS | RICH
TABLES = DELIMITED | PARQUET | JSON | WORKBOOKS | XML
BOOKKEEPING = frozenset(
    {"requirements.txt", "constraints.txt", "license", "license.txt", "makefile", "dockerfile", ".gitignore", "py.typed", "robots.txt"}
)


def suffix_of(path: str) -> str:
    """Lower-case suffix with its dot; `.gz` behind another suffix counts as an archive."""
    return PurePosixPath(path).suffix.lower()


def _delimited(path: Path, suffix: str, limits: ReadLimits) -> Content:
    from finassay_checks.reading.delimited import read_delimited

    return read_delimited(path, suffix, limits)


def _parquet(path: Path, suffix: str, limits: ReadLimits) -> Content:
    from finassay_checks.reading.columnar import read_parquet

    return read_parquet(path, limits)


def _json(path: Path, suffix: str, limits: ReadLimits) -> Content:
    from finassay_checks.reading.structured import read_json

    return read_json(read_bytes(path, limits.json_bytes), suffix, limits)


def _workbook(path: Path, suffix: str, limits: ReadLimits) -> Content:
    from finassay_checks.reading.workbook import read_workbook

    return read_workbook(path, suffix, limits)


def _markdown(path: Path, suffix: str, limits: ReadLimits) -> Content:
    return prose_content(plain(decode(read_bytes(path, limits.text_bytes))))


def _html(path: Path, suffix: str, limits: ReadLimits) -> Content:
    from finassay_checks.reading.markup import read_html

    return read_html(read_bytes(path, limits.text_bytes), limits)


def _xml(path: Path, suffix: str, limits: ReadLimits) -> Content:
    from finassay_checks.reading.xml import read_xml

    return read_xml(read_bytes(path, limits.text_bytes), limits)


def _plain(path: Path, suffix: str, limits: ReadLimits) -> Content:
    if suffix == ".txt" and path.stat().st_size and _is_delimited(path):
        from finassay_checks.reading.delimited import read_delimited

        return read_delimited(path, ".csv", limits)
    return prose_content(plain(decode(read_bytes(path, limits.text_bytes))))


def _is_delimited(path: Path) -> bool:
    """Whether a text file is a table: at least four of the same delimiter in each of its first lines."""
    with open(path, "rb") as stream:
        lines = [line for line in stream.read(16_384).decode("utf-8", errors="replace").splitlines()[:-1] if line.strip()][:20]
    if len(lines) < 3:
        return False
    return any(lines[0].count(d) >= 3 and len({line.count(d) for line in lines}) == 1 for d in (",", ";", "\t", "|"))


def _code(path: Path, suffix: str, limits: ReadLimits) -> Content:
    return Content(code=plain(decode(read_bytes(path, limits.text_bytes))))


def _notebook(path: Path, suffix: str, limits: ReadLimits) -> Content:
    from finassay_checks.reading.notebook import read_notebook

    return read_notebook(read_bytes(path, limits.text_bytes), limits)


def _rich(path: Path, suffix: str, limits: ReadLimits) -> Content:
    from finassay_checks.reading import rich

    return rich.read_docx(path, limits) if suffix == ".docx" else rich.read_pdf(path, limits)


_READERS: tuple[tuple[frozenset[str], Callable[[Path, str, ReadLimits], Content]], ...] = (
    (DELIMITED, _delimited),
    (PARQUET, _parquet),
    (JSON, _json),
    (WORKBOOKS, _workbook),
    (MARKDOWN, _markdown),
    (HTML, _html),
    (XML, _xml),
    (PLAIN, _plain),
    (CODE, _code),
    (NOTEBOOKS, _notebook),
    (RICH, _rich),
)


def read_file(path: Path, name: str, limits: ReadLimits) -> Content:
    """Read the stored bytes of the file delivered as `name`. Raises `Unreadable`, and nothing else for any bytes."""
    suffix = suffix_of(name)
    if suffix in ARCHIVES:
        raise Unreadable("is an archive; archives are not opened", "archive-not-opened")
    if suffix in OBJECTS:
        raise Unreadable("is a serialised object or database; such files are not opened", "object-not-opened")
    if suffix in PICTURES:
        return Content()
    reader = next((reader for suffixes, reader in _READERS if suffix in suffixes), None)
    if reader is None:
        raise Unreadable(f"is of a kind that is not read ({suffix or 'no suffix'})", "unknown-kind")
    try:
        return reader(path, suffix, limits)
    except Unreadable:
        raise
    except MemoryError:
        raise Unreadable("does not fit into memory", "too-large") from None
    except RecursionError:
        raise Unreadable("is nested too deeply") from None
    except Exception as error:
        raise Unreadable(f"cannot be read: {type(error).__name__}") from error
