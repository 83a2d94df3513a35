"""What the simulated user gets to see of a delivery (paper, appendix D): 20 files, 8,000 characters each, 12,000 in all, newest first."""

from finassay.api.delivery import Blobs, DeliveredFile, Delivery
from finassay.api.simulator import Excerpt

MAX_FILES = 20
MAX_CHARACTERS = 8_000
MAX_TOTAL = 12_000
_TEXT = (".md", ".txt", ".csv", ".tsv", ".json", ".html", ".htm", ".py", ".rst", ".yaml", ".yml", ".toml", ".log")


def newest_first(deliveries: tuple[Delivery, ...]) -> tuple[DeliveredFile, ...]:
    """Files of the current tree by the turn in which their bytes first appeared, newest first; reports before data of one turn."""
    if not deliveries:
        return ()
    born: dict[tuple[str, str], int] = {}
    for delivery in deliveries:
        for file in delivery.files:
            born.setdefault((file.path, file.sha256), delivery.turn)
    return tuple(sorted(deliveries[-1].files, key=lambda f: (-born[f.path, f.sha256], _rank(f.path), f.path)))


def _rank(path: str) -> tuple[int, int]:
    name = path.rsplit("/", 1)[-1].lower()
    if name.endswith((".md", ".html", ".htm", ".txt", ".rst")):
        return (0 if "report" in name or "summary" in name else 1, path.count("/"))
    return (3 if name.endswith(".py") else 2, path.count("/"))


def excerpts(deliveries: tuple[Delivery, ...], blobs: Blobs) -> tuple[Excerpt, ...]:
    """The readable beginnings of the newest files, within the budget. Bytes that are no text are not shown."""
    shown: list[Excerpt] = []
    left = MAX_TOTAL
    for file in newest_first(deliveries):
        if len(shown) >= MAX_FILES or left <= 0:
            break
        if not file.path.lower().endswith(_TEXT):
            continue
        budget = min(MAX_CHARACTERS, left)
        with open(blobs.path(file.sha256), "rb") as stream:
            text = stream.read(4 * budget + 4).decode("utf-8", "replace").replace("\x00", "�")
        shown.append(Excerpt(file.path, text[:budget], len(text) > budget or file.size > 4 * budget + 4))
        left -= len(shown[-1].text)
    return tuple(shown)
