"""The embedded market: real daily prices that a package on the index ships."""

from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from finassay.api.channel import ChannelSpec

TEXT = (
    "The Python package skfolio is installed and ships daily market data: skfolio.datasets.load_sp500_dataset() gives closes, adjusted for"
    " splits and dividends, of 20 US large companies as a table date x ticker (1990-01-02 to 2022-12-28; before 2000 three decimals are"
    " coarse), and skfolio.datasets.load_sp500_index() the level of the S&P 500 over the same dates. There are no other prices, volumes,"
    " fundamentals, sectors, announcements, market capitalisations or interest rates."
)


class ChannelOptions(BaseModel):
    """Nothing to set."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class EmbeddedMarket:
    """Implements `finassay.api.channel.Channel`."""

    api_version: ClassVar[int] = 1
    description: ClassVar[str] = "adjusted daily closes of 20 US large caps and the S&P 500, 1990 to 2022, as skfolio ships them"
    Options: ClassVar[type[BaseModel]] = ChannelOptions
    id = "embedded-market"

    def __init__(self, options: ChannelOptions, /) -> None:
        self.options = options

    def describe(self) -> ChannelSpec:
        return ChannelSpec(id=self.id, text=TEXT, provides=frozenset({"prices"}), packages=("skfolio",))
