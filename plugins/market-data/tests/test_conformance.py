from finassay.testing.cases import ComponentConformance


class TestMarketData(ComponentConformance):
    kind = "channel"
    id = "market-data"
