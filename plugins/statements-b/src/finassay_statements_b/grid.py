"""A page as a grid of tokens."""

from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Final

from attrs import frozen

from finassay.api.source import Page

_BLANKS: Final = " \t\u00a0\u2007\u202f"
_DASHES: Final = frozenset(("—", "–", "-", "--", "—-", "$—", "$-", "$–"))
_SIGNS: Final = frozenset(("$", "(", ")", "%", ")%", "$(", "($"))
_WORD_CHARACTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyz")
SAME_LINE: Final = 3.0
"""Points between tops of words that stand on one line."""


@frozen
class Token:
    """A word or a figure. `number` is None for a word; `right` is its right edge in points where the page has positions."""

    text: str
    start: int
    end: int
    number: Decimal | None = None
    percent: bool = False
    dash: bool = False
    right: float | None = None


Tokens = tuple[Token, ...]


def grid(page: Page) -> list[Tokens]:
    """The page's lines, each its tokens; by position where the page has words with positions that are found in its text."""
    placed = _placed(page)
    if placed is None:
        return [merged(tuple(_split(line, start))) for line, start in _physical(page.text)]
    lines: list[list[tuple[float, Token]]] = []
    tops: list[float] = []
    for token, left, top in placed:
        for number, other in enumerate(tops):
            if abs(other - top) <= SAME_LINE:
                lines[number].append((left, token))
                break
        else:
            tops.append(top)
            lines.append([(left, token)])
    order = sorted(range(len(tops)), key=lambda number: tops[number])
    return [merged(tuple(token for _, token in sorted(lines[number], key=lambda pair: pair[0]))) for number in order]


def _physical(text: str) -> Iterator[tuple[str, int]]:
    start = 0
    for line in text.split("\n"):
        yield line.rstrip("\r"), start
        start += len(line) + 1


def _split(line: str, offset: int) -> Iterator[Token]:
    start = -1
    for place, character in enumerate(line + " "):
        blank = character in _BLANKS
        if not blank and start < 0:
            start = place
        elif blank and start >= 0:
            yield Token(line[start:place], offset + start, offset + place)
            start = -1


def _placed(page: Page) -> list[tuple[Token, float, float]] | None:
    """The page's words in the order of its text, with left edge and top; None if there are none or they are not those of the text."""
    if not page.words:
        return None
    found = []
    at = 0
    for text, left, top, right, _bottom in page.words:
        start = page.text.find(text, at)
        if start < 0 or start - at > 200:
            return None
        at = start + len(text)
        found.append((Token(text, start, at, right=right), left, top))
    return found


def merged(tokens: Tokens) -> Tokens:
    """Figures put together from their parts: currency sign, brackets, minus, percent sign; leaders are dropped."""
    out: list[Token] = []
    place = 0
    while place < len(tokens):
        if tokens[place].text[0].isalpha():  # no figure begins with a letter
            out.extend(_without_leader(tokens[place]))
            place += 1
            continue
        best = None
        for length in range(min(4, len(tokens) - place), 0, -1):
            parts = tokens[place : place + length]
            figure = _figure(parts) if length == 1 or _apart(parts) else None
            if figure is not None:
                best = (figure, length)
                break
        if best is not None:
            out.append(best[0])
            place += best[1]
            continue
        out.extend(_without_leader(tokens[place]))
        place += 1
    return tuple(out)


def _apart(tokens: Sequence[Token]) -> bool:
    """Whether these are one figure that spaces took apart: signs around one token with digits."""
    digits = [token for token in tokens if any(c.isdigit() for c in token.text)]
    signs = [token.text for token in tokens if token not in digits]
    return (len(digits) == 1 and all(sign in _SIGNS for sign in signs)) or (
        not digits and len(tokens) == 2 and tokens[0].text == "$" and tokens[1].text in _DASHES
    )


def _without_leader(token: Token) -> Iterator[Token]:
    """A word without the dots that lead to its figures; a figure that the dots run into is a token of its own."""
    text = token.text
    if ".." not in text and "…" not in text:
        if text.strip("._") != "":
            yield token
        return
    first = min(place for place in (text.find(".."), text.find("…")) if place >= 0)
    last = len(text.rstrip()) - len(text[first:].lstrip(".…")) if text[first:].strip(".…") else len(text)
    if first > 0:
        yield Token(text[:first], token.start, token.start + first, right=token.right)
    if last < len(text):
        rest = Token(text[last:], token.start + last, token.end, right=token.right)
        yield _figure((rest,)) or rest


def _figure(tokens: Sequence[Token]) -> Token | None:
    """One figure out of adjoining tokens, or None."""
    whole = "".join(token.text for token in tokens)
    start, end, right = tokens[0].start, tokens[-1].end, tokens[-1].right
    if whole in _DASHES:
        return Token(whole, start, end, Decimal(0), dash=True, right=right)
    body = whole.lstrip("$")
    percent = body.endswith("%")
    body = body.rstrip("%")
    negative = body.startswith("(") and body.endswith(")")
    if negative:
        body = body[1:-1].lstrip("$").rstrip("%")
    elif body[:1] in "-–−" and body[1:]:
        negative, body = True, body[1:].lstrip("$")
    if not body or (not body[0].isdigit() and body[0] != ".") or not _grouped(body):
        return None
    try:
        number = Decimal(body.replace(",", ""))
    except InvalidOperation:
        return None
    return Token(whole, start, end, -number if negative else number, percent, right=right)


def _grouped(body: str) -> bool:
    """Digits with thousands in groups of three and at most one point."""
    whole, _, fraction = body.partition(".")
    if (fraction and not fraction.isdigit()) or "." in fraction:
        return False
    groups = whole.split(",")
    if not all(group.isdigit() for group in groups if group or len(groups) > 1):
        return False
    return len(groups) == 1 or (1 <= len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:]))


def stem(word: str) -> str:
    """A word without its plural and punctuation, in lower case; empty for none."""
    plain = "".join(c for c in word.lower().replace("\ufffe", "-") if c in _WORD_CHARACTERS or c in "-&")
    plain = plain.strip("-")
    if plain.endswith("ies") and len(plain) > 4:
        return plain[:-3] + "y"
    if plain.endswith("xes"):
        return plain[:-2]
    return plain[:-1] if plain.endswith("s") and not plain.endswith("ss") and len(plain) > 3 else plain
