"""The channel `edgar`: agents reach the SEC's filings under the same cutoff as the writers of rubrics do."""

import json
import sys
from datetime import date
from typing import ClassVar, Final

from pydantic import Field

from finassay.api.channel import ChannelSpec, ServerSpec
from finassay_source_edgar.source import EdgarOptions

TEXT: Final = (
    "An MCP server over the filings that US companies made with the SEC on or before {cutoff}. find(query) lists filings of a company, by name or"
    " ticker, form and year; search(query) finds passages by the SEC's full-text search (filings since 2001); open(reference, first_page, last_page)"
    " gives pages of a filing as they were extracted, each with its SHA-256. The word `facts` in find lists a company's XBRL facts. There are no prices."
)


class EdgarChannelOptions(EdgarOptions):
    """Who asks, where, and as of when."""

    cutoff: date = Field(description="Last day of filing, inclusive, as YYYY-MM-DD.")
    start_seconds: float = Field(default=60, gt=0, le=3600, allow_inf_nan=False, description="How long the server may take to start.")


class EdgarChannel:
    """Implements `finassay.api.channel.Channel`. The server runs outside the sandbox: agents reach the SEC through it alone, and nothing after the cutoff."""

    api_version: ClassVar[int] = 1
    description: ClassVar[str] = "MCP server over the SEC's filings: search, find and open as of a day"
    Options: ClassVar[type[EdgarChannelOptions]] = EdgarChannelOptions
    id = "edgar"

    def __init__(self, options: EdgarChannelOptions, /) -> None:
        self.options = options

    def describe(self) -> ChannelSpec:
        chosen = self.options.model_dump(mode="json", exclude={"cutoff", "start_seconds"}, exclude_defaults=True)
        if self.options.cache is not None:
            chosen["cache"] = str(self.options.cache.resolve())
        cutoff = self.options.cutoff.isoformat()
        # -P keeps the folder that finassay was started in off the module path.
        command = (sys.executable, "-P", "-m", "finassay_source_edgar", "serve", f"--cutoff={cutoff}", f"--options={json.dumps(chosen)}")
        server = ServerSpec(command=command, start_seconds=self.options.start_seconds)
        return ChannelSpec(id=self.id, text=TEXT.format(cutoff=cutoff), provides=frozenset({"filings"}), server=server)
