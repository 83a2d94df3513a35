"""The channel `market-data`: this distribution's server, started by finassay for each session."""

import sys
from datetime import date
from pathlib import Path
from typing import ClassVar, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from finassay.api.channel import ChannelSpec, ServerSpec

TOOLS: Final = (
    "describe says what there is, how it was adjusted and where it ends; list_tickers the tickers; get_prices(tickers, start, end, fields,"
    " frequency) and get_index give daily, weekly or monthly values in pages, as JSON or as CSV text, each page with its source and the SHA-256"
    " of its rows."
)
EMBEDDED: Final = (
    "An MCP server over daily closes, adjusted for splits and dividends, of 20 large US companies and the level of the S&P 500 (as the Python"
    " package skfolio ships them; {span}; before 2000 three decimals are coarse). {tools} There are no volumes, fundamentals, sectors,"
    " announcements, market capitalisations or interest rates."
)
FOLDER: Final = "An MCP server over {source}{span}. {tools} There are no fundamentals, sectors, announcements, market capitalisations or interest rates."
LAST_EMBEDDED: Final = date(2022, 12, 28)


class MarketDataOptions(BaseModel):
    """Without options: the embedded market, uncut."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    folder: Path | None = Field(default=None, description="Parquet or CSV files of daily prices; the embedded market if left out.")
    cutoff: date | None = Field(
        default=None, description="Last day of which anything is told, inclusive; all there is if left out, as in the paper."
    )
    source: str = Field(default="", max_length=500, description="Where the folder's prices come from, in words that agents read.")
    adjusted: Literal["total", "splits", "none", "unknown"] = Field(
        default="unknown", description="How the folder's prices were adjusted: for splits and dividends, for splits, not at all."
    )
    index: str = Field(default="", max_length=40, description="Ticker of the folder's index; a usual name is found if left out.")
    start_seconds: float = Field(default=60, gt=0, le=600, allow_inf_nan=False, description="How long the server may take to start.")

    @model_validator(mode="after")
    def _of_a_folder(self) -> Self:
        if self.folder is None:
            if self.source or self.index or self.adjusted != "unknown":
                raise ValueError("source, adjusted and index belong to a folder")
        elif not self.folder.is_dir():
            raise ValueError(f"there is no folder {str(self.folder)!r}")
        return self


class MarketDataChannel:
    """Implements `finassay.api.channel.Channel`. The server runs outside the sandbox: agents never see the folder, nor what lies after the cutoff."""

    api_version: ClassVar[int] = 1
    description: ClassVar[str] = "MCP server over the embedded market or a folder of prices, cut at a date if asked"
    Options: ClassVar[type[BaseModel]] = MarketDataOptions
    id = "market-data"

    def __init__(self, options: MarketDataOptions, /) -> None:
        self.options = options

    def describe(self) -> ChannelSpec:
        # -P keeps the folder that finassay was started in off the module path.
        command = (sys.executable, "-P", "-m", "finassay_market_data", *self._arguments())
        server = ServerSpec(command=command, start_seconds=self.options.start_seconds)
        return ChannelSpec(id=self.id, text=self._text(), provides=frozenset({"prices"}), server=server)

    def _arguments(self) -> list[str]:
        options = self.options
        arguments: list[str] = []
        if options.folder is not None:
            arguments += ["--folder", str(options.folder.resolve()), "--adjusted", options.adjusted]
        if options.cutoff is not None:
            arguments += ["--cutoff", options.cutoff.isoformat()]
        # A value that begins with a dash would be read as an option of its own.
        return [*arguments, *(f"--{name}={value}" for name, value in (("source", options.source), ("index", options.index)) if value)]

    def _text(self) -> str:
        cutoff = self.options.cutoff
        if self.options.folder is None:
            last = LAST_EMBEDDED if cutoff is None else min(cutoff, LAST_EMBEDDED)
            return EMBEDDED.format(span=f"1990-01-02 to {last.isoformat()}", tools=TOOLS)
        source = " ".join(self.options.source.split()) or "daily market data"
        return FOLDER.format(source=source, span="" if cutoff is None else f", up to {cutoff.isoformat()}", tools=TOOLS)
