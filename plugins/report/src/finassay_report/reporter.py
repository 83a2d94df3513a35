"""The reporter `html`: one page a run, one page a session."""

import hashlib
import os
import re
import secrets
from pathlib import Path
from typing import ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field

from finassay.api.scorecard import RunView, SessionView
from finassay.api.version import API_VERSION

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")


class HtmlOptions(BaseModel):
    """Settings of the reporter."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    preview_bytes: int = Field(default=12_000, ge=0, le=1_000_000, description="Bytes of a delivered file that a session's page shows.")
    resamples: int = Field(default=9_999, ge=100, le=100_000, description="How often tasks are drawn again for an interval.")


class HtmlReporter:
    """Writes self-contained HTML without scripts. Everything that an agent wrote is escaped and bounded."""

    api_version: ClassVar[int] = API_VERSION
    description: ClassVar[str] = "one self-contained HTML page a run and a session"
    Options: ClassVar[type[HtmlOptions]] = HtmlOptions

    def __init__(self, options: HtmlOptions) -> None:
        self.options = options

    def write(self, run: RunView, folder: Path) -> Path:
        """Write `index.html` and `sessions/<id>.html` into `folder`, which is made if needed; the path of the index page.

        Each file is replaced as a whole, so that a reader never sees half a page. Raises `OSError` if the folder cannot be written.
        """
        from finassay_report.pages import Pages

        pages = Pages(resamples=self.options.resamples, preview_bytes=self.options.preview_bytes)
        links = {session.id: f"sessions/{page_name(session)}" for session in run.sessions}
        (folder / "sessions").mkdir(parents=True, exist_ok=True)
        for session in run.sessions:
            _replace(folder / links[session.id], pages.session(run, session))
        index = folder / "index.html"
        _replace(index, pages.run(run, links))
        return index


def page_name(session: SessionView) -> str:
    """A file name for a session: its id where that is a plain name, else what is left of it with a digest."""
    plain = _UNSAFE.sub("-", session.id).strip(".-")[:120]
    if plain and plain == session.id:
        return f"{plain}.html"
    digest = hashlib.sha256(session.id.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain or 'session'}-{digest}.html"


def _replace(path: Path, text: str) -> None:
    scratch = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        scratch.write_text(text, encoding="utf-8", errors="replace")
        os.replace(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)
