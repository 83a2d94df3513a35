"""The channel `corpus`: agents reach the same folder, under the same cutoff, as the writers of rubrics do."""

import sys
from datetime import date
from pathlib import Path
from typing import ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field, field_validator

from finassay.api.channel import ChannelSpec, ServerSpec

TEXT: Final = (
    "An MCP server over a library of documents{about} that were published on or before {cutoff}. search(query) finds passages, with document and"
    " page; find(query) lists documents of a company, by name, form and year; open(reference, first_page, last_page) gives pages as they were"
    " extracted, each with its SHA-256. There are no prices."
)


class CorpusChannelOptions(BaseModel):
    """Which folder, as of when."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    folder: Path = Field(description="The folder, as of the source `corpus`.")
    cutoff: date = Field(description="Last day of publication, inclusive, as YYYY-MM-DD. Undated documents are not there.")
    cache: Path | None = Field(default=None, description="Folder for the index; in the folder itself, or the user's cache, if left out.")
    about: str = Field(
        default="", max_length=300, description="What the documents are, in words that agents read: `filings of US companies`."
    )
    start_seconds: float = Field(
        default=600, gt=0, le=3600, allow_inf_nan=False, description="How long the server may take, the first time to index."
    )

    @field_validator("folder")
    @classmethod
    def _is_there(cls, folder: Path) -> Path:
        if not folder.is_dir():
            raise ValueError(f"there is no folder {str(folder)!r}")
        return folder


class CorpusChannel:
    """Implements `finassay.api.channel.Channel`. The server runs outside the sandbox: agents never see the folder, nor what lies after the cutoff."""

    api_version: ClassVar[int] = 1
    description: ClassVar[str] = "MCP server over a folder of documents: search, find and open as of a day"
    Options: ClassVar[type[BaseModel]] = CorpusChannelOptions
    id = "corpus"

    def __init__(self, options: CorpusChannelOptions, /) -> None:
        self.options = options

    def describe(self) -> ChannelSpec:
        options = self.options
        # -P keeps the folder that finassay was started in off the module path.
        command = [sys.executable, "-P", "-m", "finassay_source_corpus", "serve", f"--cutoff={options.cutoff.isoformat()}"]
        command += [] if options.cache is None else [f"--cache={options.cache.resolve()}"]
        server = ServerSpec(command=(*command, "--", str(options.folder.resolve())), start_seconds=options.start_seconds)
        about = " ".join(options.about.split())
        text = TEXT.format(about=f" ({about})" if about else "", cutoff=options.cutoff.isoformat())
        return ChannelSpec(id=self.id, text=text, provides=frozenset({"filings"}), server=server)
