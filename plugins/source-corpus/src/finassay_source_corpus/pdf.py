"""PDF to pages of text and words with their places, in a process of its own: a file that crashes or floods the reader ends that process only."""

import ctypes
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from finassay_source_corpus.text import MAX_PAGE, MAX_PAGES, MAX_TEXT, RawPage, UnreadableError

SECONDS: Final = 300
MEMORY: Final = 2 * 2**30
"""Bytes of address space of the process that reads."""
MAX_OUTPUT: Final = 4 * MAX_TEXT


def pages_of_pdf(path: Path, seconds: float = SECONDS) -> list[RawPage]:
    """Pages with words. Raises `UnreadableError` for a file that is broken, locked, too large or too slow."""
    command = [sys.executable, "-P", "-m", "finassay_source_corpus.pdf", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        raise UnreadableError(f"not read within {seconds:g} seconds") from None
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise UnreadableError(said[-1][:300] if done.returncode == 3 and said else f"the reader of PDF ended with {done.returncode}")
    return [_page(number, json.loads(line)) for number, line in enumerate(done.stdout.splitlines(), start=1)]


def _page(number: int, row: dict[str, Any]) -> RawPage:
    return RawPage(number, row["text"], tuple((str(w), float(a), float(b), float(c), float(d)) for w, a, b, c, d in row["words"]))


# -- in the process that reads ----------------------------------------------------------------------------------------


def main(path: str) -> int:
    """A JSON object a page on standard output; exit code 3 and one line for what cannot be read."""
    _limit()
    import pypdfium2

    written = 0
    try:
        document = pypdfium2.PdfDocument(path)
        if len(document) > MAX_PAGES:
            raise UnreadableError(f"more than {MAX_PAGES} pages")
        for index in range(len(document)):
            line = json.dumps(_read(document, index))
            written += len(line)
            if written > MAX_OUTPUT:
                raise UnreadableError(f"more than {MAX_OUTPUT} bytes of text")
            print(line)
    except (pypdfium2.PdfiumError, UnreadableError, MemoryError) as error:
        print(str(error) or "too large", file=sys.stderr)
        return 3
    return 0


def _limit() -> None:
    """The process may take so much memory and time and no more, where the system knows limits."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _read(document: Any, index: int) -> dict[str, Any]:
    page = document[index]
    try:
        textpage = page.get_textpage()
        try:
            count = textpage.count_chars()
            if count > MAX_PAGE:
                raise UnreadableError(f"a page of more than {MAX_PAGE} characters")
            return {"text": textpage.get_text_range(errors="replace") if count else "", "words": _words(textpage, count, page.get_height())}
        finally:
            textpage.close()
    finally:
        page.close()


def _words(textpage: Any, count: int, height: float) -> list[tuple[str, float, float, float, float]]:
    """Words between white space, with the box around their characters: points from the page's upper left corner."""
    import pypdfium2.raw as raw

    words: list[tuple[str, float, float, float, float]] = []
    letters: list[str] = []
    box: list[float] = []
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    for index in range(count + 1):
        code = raw.FPDFText_GetUnicode(textpage.raw, index) if index < count else 32
        letter = chr(code) if 0 < code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else "\ufffd" if code else " "
        if letter.isspace():
            if letters:
                x0, low, x1, high = box
                words.append(("".join(letters), round(x0, 2), round(height - high, 2), round(x1, 2), round(height - low, 2)))
            letters, box = [], []
            continue
        raw.FPDFText_GetCharBox(textpage.raw, index, left, right, bottom, top)
        here = [left.value, bottom.value, right.value, top.value]
        box = here if not box else [min(box[0], here[0]), min(box[1], here[1]), max(box[2], here[2]), max(box[3], here[3])]
        letters.append(letter)
    return words


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
