"""The channel `fmp`: the MCP server of Financial Modeling Prep, which the paper's agents had."""

from typing import ClassVar, Final, Self

from pydantic import BaseModel, Field, model_validator

from finassay.api.channel import ChannelSpec, ServerSpec
from finassay.api.strategy import DATA_KINDS
from finassay_channel_mcp.channel import ServerOptions, check_url
from finassay_channel_mcp.secrets import VARIABLE

URL: Final = "https://financialmodelingprep.com/mcp"
TEXT: Final = (
    "The MCP server of Financial Modeling Prep has some 250 tools over market data of the whole world: end-of-day and intraday prices, as"
    " traded and adjusted for splits and dividends, with the splits and dividends themselves; income statements, balance sheets and cash-flow"
    " statements with their filing dates, ratios and key metrics; company profiles with sector and industry; market capitalisations over time;"
    " earnings dates and surprises; members of indices over time; treasury rates and economic series; search for symbols. What it returns is not"
    " cut at any date: rows after the last date that may be used come along and must be left out, and values that were restated later may stand"
    " under earlier dates. Calls are limited by the plan that pays for them; ask for long ranges at once rather than day by day."
)


class FmpOptions(ServerOptions):
    """The key is found in the environment; only its variable is named here."""

    key_variable: str = Field(default="FMP_API_KEY", description="Environment variable that holds the key of Financial Modeling Prep.")
    url: str = Field(default=URL, max_length=2_000, description="Address of the server without the key, for a proxy or a test.")
    provides: frozenset[str] = Field(
        default=frozenset(DATA_KINDS), min_length=1, description="Kinds of data that the plan behind the key includes."
    )

    @model_validator(mode="after")
    def _checked(self) -> Self:
        if not VARIABLE.fullmatch(self.key_variable):
            raise ValueError("key_variable is the name of an environment variable, never the key")
        if unknown := sorted(self.provides - set(DATA_KINDS)):
            raise ValueError(f"no kind of data: {', '.join(unknown)[:200]}; there are {', '.join(DATA_KINDS)}")
        if "?" in self.url or "#" in self.url:
            raise ValueError("url: without parameters; the key is added")
        check_url(self.url, {}, plain_http=False)
        return self


class FmpChannel:
    """Implements `finassay.api.channel.Channel`."""

    api_version: ClassVar[int] = 1
    description: ClassVar[str] = "Financial Modeling Prep over MCP: prices, fundamentals, sectors, announcements, market caps, rates"
    Options: ClassVar[type[BaseModel]] = FmpOptions
    id = "fmp"

    def __init__(self, options: FmpOptions, /) -> None:
        self.options = options

    def describe(self) -> ChannelSpec:
        options = self.options
        return ChannelSpec(
            id=self.id,
            text=TEXT,
            provides=options.provides,
            server=ServerSpec(
                url=f"{options.url}?apikey=${{{options.key_variable}}}",
                secrets=(options.key_variable,),
                tools=options.tools,
                start_seconds=options.start_seconds,
            ),
        )
