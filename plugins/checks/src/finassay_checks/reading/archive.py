"""Zip containers (workbooks, documents): what their members really expand to, measured before anything else opens them."""

import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from finassay_checks.reading.limits import ReadLimits, Unreadable

MAX_MEMBERS = 4_000
_CHUNK = 1 << 20
_LOCAL = struct.Struct("<4s5H3L2H")
_CELL = re.compile(rb"""\br=["']([A-Za-z]{0,3})(\d{0,7})["']""")
_NO_VALUE = re.compile(rb"</f>\s*(?:<v>\s*</v>\s*|<v\s*/>\s*)?</c>|<f[^<>]{0,500}/>\s*</c>")
MAX_RANGE = 40_000_000


@frozen
class Measured:
    """Expanded bytes of a container, and formula cells that hold no cached value."""

    expanded: int
    empty_formulas: int


def measure(path: Path, limits: ReadLimits, sheets: bool) -> Measured:
    """Expand every member in small pieces without keeping it. Raises `Unreadable` if it grows beyond the limit, lies about its
    parts or is nested.

    With `sheets`, the range that the cells of a worksheet span is bounded as well: readers allocate it densely.
    """
    expanded, empty = 0, 0
    try:
        with zipfile.ZipFile(path) as container, open(path, "rb") as raw:
            members = container.infolist()
            if len(members) > MAX_MEMBERS:
                raise Unreadable(f"holds more than {MAX_MEMBERS:,} members", "too-large")
            if sum(member.file_size for member in members) > limits.expanded_bytes:
                raise Unreadable(f"declares more than {limits.expanded_bytes:,} bytes of content", "too-large")
            for member in members:
                sheet = sheets and member.filename.lower().endswith(".xml") and "sheet" in member.filename.lower()
                span = _Span()
                for piece in _pieces(raw, member):
                    expanded += len(piece)
                    if expanded > limits.expanded_bytes:
                        raise Unreadable(f"expands to more than {limits.expanded_bytes:,} bytes", "too-large")
                    if sheet:
                        empty += span.add(piece)
                if span.cells > MAX_RANGE:
                    raise Unreadable(f"spans a range of more than {MAX_RANGE:,} cells", "too-large")
    except (zipfile.BadZipFile, zlib.error, struct.error, OSError, NotImplementedError, ValueError) as error:
        raise Unreadable(f"is no readable container: {str(error)[:120]}") from None
    return Measured(expanded, empty)


class _Span:
    """The corner-to-corner range of a worksheet's cells."""

    def __init__(self) -> None:
        self.rows, self.columns, self.tail = [1 << 30, 0], [1 << 30, 0], b""

    def add(self, piece: bytes) -> int:
        text = self.tail + piece
        for letters, digits in set(_CELL.findall(text)):
            self._widen(self.rows, int(digits)) if digits else None
            self._widen(self.columns, _column(letters)) if letters else None
        self.tail = text[-80:]
        return len(_NO_VALUE.findall(text))

    @staticmethod
    def _widen(bounds: list[int], value: int) -> None:
        bounds[0], bounds[1] = min(bounds[0], value), max(bounds[1], value)

    @property
    def cells(self) -> int:
        rows, columns = (max(b[1] - b[0] + 1, 0) for b in (self.rows, self.columns))
        return rows * columns


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters.upper():
        number = number * 26 + letter - 64
    return number


def _pieces(raw: "object", member: zipfile.ZipInfo) -> Iterator[bytes]:
    """Expanded bytes of a member in pieces, from its compressed bytes: what the directory declares is not believed."""
    from typing import BinaryIO, cast

    stream = cast(BinaryIO, raw)
    stream.seek(member.header_offset)
    fields = _LOCAL.unpack(stream.read(_LOCAL.size))
    if fields[0] != b"PK\x03\x04":
        raise ValueError("a member's header is broken")
    stream.seek(fields[9] + fields[10], 1)
    left = member.compress_size
    if member.compress_type == zipfile.ZIP_STORED:
        while left > 0 and (data := stream.read(min(_CHUNK, left))):
            left -= len(data)
            yield data
        return
    if member.compress_type != zipfile.ZIP_DEFLATED:
        raise ValueError("a member is compressed in an unusual way")
    inflater = zlib.decompressobj(-15)
    while left > 0 and not inflater.eof:
        data = stream.read(min(64 * 1024, left))
        if not data:
            break
        left -= len(data)
        while data and not inflater.eof:
            piece = inflater.decompress(data, _CHUNK)
            data = inflater.unconsumed_tail
            if piece:
                yield piece


def member_bytes(path: Path, name: str, limit: int) -> bytes:
    """One member's expanded bytes. Raises `Unreadable` if it is absent or longer than `limit`."""
    with zipfile.ZipFile(path) as container, open(path, "rb") as raw:
        try:
            member = container.getinfo(name)
        except KeyError:
            raise Unreadable(f"lacks its part '{name}'") from None
        parts, size = [], 0
        for piece in _pieces(raw, member):
            size += len(piece)
            if size > limit:
                raise Unreadable(f"expands to more than {limit:,} bytes", "too-large")
            parts.append(piece)
    return b"".join(parts)
