"""An answer as plain text: LaTeX taken off, foreign number formats in the English form; every place leads back to the answer as it was given."""

import re
from bisect import bisect_right
from typing import Final

from attrs import evolve, frozen

from finassay_rubrics.grading.markup import without_markup

MAX_ANSWER: Final = 120_000
"""Characters of an answer that are read: forty pages."""
_KEY: Final = re.compile(r"(?<=[A-Za-z])_(?=[A-Za-z\d])")
"""Within a key of JSON or YAML: `net_income`."""
MAX_RUN: Final = 80
"""How often one character may stand on end: longer runs tell nothing and cost time."""
_RUN: Final = re.compile(r"(.)\1{80,}", re.DOTALL)
SPELLED: Final = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
    "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20,
    "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
_SPELLED: Final = re.compile(rf"\b({'|'.join(SPELLED)})\b(?![-\w])", re.IGNORECASE)
_LATEX: Final = re.compile(r"\\(?:[dt]?frac|text|times|approx|boxed|cdot|mathrm|[(\[%$&])|\{,\}")
_TOKEN: Final = re.compile(
    r"\\[dt]?frac\s*\{|\\(?:text(?:bf|it|rm)?|math(?:rm|bf|it)|operatorname|boxed|mbox)\s*\{|(?<=\d)\\[,!](?=\d{3})|\{,\}|\\[A-Za-z]+\s?|\\.|[{}]|\$\$|\$|\*\*"
    r"|\b(?:minus|negative)\s+(?=[$€£]?\d)"
)
_SIGNS: Final = {
    "\\times": "×", "\\cdot": "×", "\\approx": "≈", "\\div": "÷", "\\%": "%", "\\$": "$", "\\&": "&", "\\_": "_", "\\#": "#", "\\pm": "±",
    "\\to": " to ", "\\rightarrow": " to ",
}  # fmt: skip
_BOLD: Final = re.compile(r"\*\*")
_MINUS: Final = re.compile(r"(?<![\d%)] )\b(?:minus|negative)\s+(?=[$€£]?\d)", re.IGNORECASE)


@frozen
class Plain:
    """A text made from an answer, with the places where its pieces come from."""

    text: str
    starts: tuple[int, ...] = ()
    """Where each piece begins in `text`."""
    origins: tuple[int, ...] = ()
    """Where it begins in the answer."""

    cuts: tuple[tuple[int, int], ...] = ()
    """(place without long runs, place in the answer) of each part of an answer that has them."""

    def origin(self, at: int) -> int:
        """The place in the answer of a place in the text."""
        place = self._piece(at)
        if not self.cuts:
            return place
        part = self.cuts[bisect_right(self.cuts, (place, MAX_ANSWER + 1)) - 1]
        return part[1] + place - part[0]

    def _piece(self, at: int) -> int:
        if not self.starts:
            return at
        piece = bisect_right(self.starts, at) - 1
        limit = self.origins[piece + 1] if piece + 1 < len(self.origins) else None
        place = self.origins[piece] + at - self.starts[piece]
        return place if limit is None else min(place, limit)

    def span(self, span: tuple[int, int] | None) -> tuple[int, int] | None:
        """The place in the answer of a stretch of the text."""
        return None if span is None else (self.origin(span[0]), self.origin(max(span[1] - 1, span[0])) + (span[1] > span[0]))


def plain(answer: str, *, spelled: bool = False) -> Plain:
    """The text that figures are looked for in. `spelled` also puts `twelve` as 12."""
    answer = _KEY.sub(" ", without_markup(answer[:MAX_ANSWER]))
    answer, cuts = _without_runs(answer)
    made = _made(answer, spelled=spelled)
    return made if len(cuts) < 2 else evolve(made, cuts=tuple(cuts))


def _without_runs(answer: str) -> tuple[str, list[tuple[int, int]]]:
    """The answer with no character more often than `MAX_RUN` times on end, and (place in it, place in the answer) of each part."""
    parts, cuts, at, length = [], [(0, 0)], 0, 0
    for run in _RUN.finditer(answer):
        parts.append(answer[at : run.start() + MAX_RUN])
        length += len(parts[-1])
        at = run.end()
        cuts.append((length, at))
    return "".join([*parts, answer[at:]]), cuts


def _made(answer: str, *, spelled: bool) -> Plain:
    pieces: list[tuple[int, str]] = []
    latex = bool(_LATEX.search(answer))
    if latex:
        pieces = _without_latex(answer)
    changes = [(m.start(), m.end(), "-") for m in _MINUS.finditer(answer)]
    changes += [(m.start(), m.end(), "") for m in _BOLD.finditer(answer)]  # looks like a power
    changes += [(m.start(), m.end(), _figure(m[1])) for m in _SPELLED.finditer(answer)] if spelled else []
    if changes and not latex:
        pieces = _changed(answer, sorted(changes))
    if not pieces:
        return Plain(english(answer))
    starts, origins, at = [], [], 0
    for origin, text in pieces:
        starts.append(at)
        origins.append(origin)
        at += len(text)
    return Plain(english("".join(text for _, text in pieces)), tuple(starts), tuple(origins))


def _figure(word: str) -> str:
    return str(SPELLED[word.lower()])


def _changed(answer: str, changes: list[tuple[int, int, str]]) -> list[tuple[int, str]]:
    pieces, at = [], 0
    for start, end, new in changes:
        if start < at:
            continue
        pieces += [(at, answer[at:start]), (start, new)]
        at = end
    return [*pieces, (at, answer[at:])]


# -- LaTeX ------------------------------------------------------------------------------------------------------------


def _without_latex(answer: str) -> list[tuple[int, str]]:
    """Pieces of the answer with its commands replaced: a fraction is a quotient, braces and delimiters are gone."""
    pieces: list[tuple[int, str]] = []
    open_braces: list[str] = []
    at, quoted_dollar = 0, "\\$" in answer
    for match in _TOKEN.finditer(answer):
        token = match[0]
        if match.start() < at:
            continue
        new, end = _replaced(answer, match, open_braces, quoted_dollar)
        if new is None:
            continue
        pieces += [(at, answer[at : match.start()]), (match.start(), new)]
        at = max(end, match.start() + len(token))
    return [*pieces, (at, answer[at:])]


def _replaced(answer: str, match: re.Match[str], open_braces: list[str], quoted_dollar: bool) -> tuple[str | None, int]:
    """What stands for a token, and where the answer goes on; None leaves it."""
    token, end = match[0], match.end()
    if "frac" in token:
        open_braces.append("over")
        return " ", end
    if token.endswith("{"):
        open_braces.append("")
        return "", end
    if token == "}":
        kind = open_braces.pop() if open_braces else ""
        following = re.compile(r"\s*\{").match(answer, end)
        if kind == "over" and following:
            open_braces.append("under")
            return " / ", following.end()
        return (" " if kind else ""), end
    if token == "{,}" or re.fullmatch(r"\\[,!]", token):
        return (
            "," if token == "{,}" or (answer[match.start() - 1 : match.start()].isdigit() and answer[end : end + 3].isdigit()) else ""
        ), end
    if token == "**":
        return "", end
    if token in ("$$", "$"):
        return (" ", end) if token == "$$" or quoted_dollar or not answer[end : end + 1].isdigit() else (None, end)
    if token[0] == "\\":
        return _SIGNS.get(token.strip(), " "), end
    return "-", end


# -- number formats ---------------------------------------------------------------------------------------------------

_TOKENS: Final = re.compile(r"(?<![\w.,])\d[\d.,]*\d(?![\w])")
_DAY: Final = re.compile(r"\d{1,2}\.\d{1,2}\.(?:\d{4}|\d{2})")
_COMMA: Final = re.compile(r"\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}|\d+,\d{1,2}|0,\d+|\d{4,},\d+")
"""What only a decimal comma explains."""
_POINT: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d{1,2}|\d+\.\d{4,}|0\.\d+|\d{4,}\.\d+")
"""What only a decimal point explains (or, of three digits after a comma, mostly)."""
_SURE_POINT: Final = re.compile(r"\d{1,3}(?:,\d{3})+\.\d+|\d{1,3}(?:,\d{3}){2,}|\d+\.\d{1,2}|0\.\d+")
_GROUPED: Final = re.compile(
    r"(?<![\w.,])\d{1,3}(?:[\u00a0\u2009\u202f’'](?=\d{3}(?!\d)))(?:\d{3}[\u00a0\u2009\u202f’'](?=\d{3}(?!\d)))*\d{3}"
    r"|(?:(?<=[$€£]\s)|(?<=[$€£])|(?<=[A-Z]{3}\s))\d{1,3}(?: \d{3})+(?!\d)"
)
"""Thousands parted by a narrow space or an apostrophe; by a plain space only right after a currency."""
_SPACES: Final = re.compile(r"[\u00a0\u2009\u202f’' ]")
_ODD_SPACES: Final = str.maketrans(dict.fromkeys("\u00a0\u2007\u2009\u202f", " "))


def english(text: str) -> str:
    """The text with its numbers in the English form, as long as it was."""
    text = _GROUPED.sub(lambda m: _SPACES.sub(",", m[0]), text).translate(_ODD_SPACES)
    tokens = [m for m in _TOKENS.finditer(text) if not _DAY.fullmatch(m[0])]
    commas = sum(1 for m in tokens if _COMMA.fullmatch(m[0]))
    points = sum(1 for m in tokens if (_POINT if commas < 2 else _SURE_POINT).fullmatch(m[0]))
    if commas <= points:
        return text
    return _TOKENS.sub(lambda m: m[0] if _DAY.fullmatch(m[0]) else m[0].translate(_SWAP), text)


_SWAP: Final = str.maketrans(",.", ".,")
