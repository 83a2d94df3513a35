"""What columns and tables in each role are called: joined word parts, and hints of file and sheet names (spec D.0.3)."""

import re

FILL_DATES = (
    "filldate",
    "filled",
    "filledon",
    "executed",
    "executedon",
    "executiondate",
    "tradedate",
    "tradedon",
    "traded",
    "dateexecuted",
    "effectivedate",
    "date",
    "timestamp",
    "datetime",
    "time",
    "datum",
    "day",
    "dt",
    "t",
    "ts",
    "epoch",
    "",
)
SIGNAL_DATES = (
    "signaldate",
    "decisiondate",
    "decidedon",
    "decided",
    "signal",
    "decision",
    "asofdate",
    "asof",
    "rebalancedate",
    "formationdate",
)
SIDES = ("side", "action", "direction", "buysell", "type", "transaction", "transactiontype", "ordertype")
SHARES = (
    "shares",
    "quantity",
    "qty",
    "size",
    "units",
    "sharesbuysell",
    "amount",
    "filled",
    "filledqty",
    "signedshares",
    "sharestraded",
    "tradeshares",
    "delta",
    "deltashares",
)
PRICES = ("price", "fillprice", "fillpx", "px", "executionprice", "execprice", "tradeprice", "tprice", "avgprice", "rate", "close")
FEES = (
    "fee",
    "fees",
    "cost",
    "costs",
    "commission",
    "commissions",
    "transactioncost",
    "transactioncosts",
    "tradingcost",
    "commfee",
    "tcost",
    "ibcommission",
    "feepaid",
)
VALUES = (
    "value",
    "notional",
    "valuetraded",
    "tradedvalue",
    "tradevalue",
    "grossvalue",
    "proceeds",
    "txndollars",
    "dollars",
    "amount",
    "turnover",
)
REASONS = ("reason", "why", "rule", "tag", "trigger", "reasoncode", "note", "notes", "comment")
IDS = ("tradeid", "orderid", "fillid", "id", "ref", "spell", "spell#", "order", "trade")
DECIDED = ("decidedby", "decidingvalue", "score", "rank", "signalvalue", "signal")
HINT_TRADES = re.compile(r"trade|fill|transaction|blotter|order|ledger|execution", re.I)
HINT_PRICES = re.compile(r"price|close|quote|ohlc|market_?data|bars", re.I)
HINT_WEIGHTS = re.compile(r"weight|alloc", re.I)
HINT_POSITIONS = re.compile(r"position|share|holding|unit", re.I)
HINT_SIGNALS = re.compile(r"signal|score|rank|factor|momentum|volatil|zscore|reversal|beta", re.I)
HINT_CHECK = re.compile(r"check|verif|tie.?out|cross|second_?source|reconcil|audit_result|compare_source", re.I)
HINT_UNIVERSE = re.compile(r"universe|member|constituent|tickers|names", re.I)
HINT_EQUITY = re.compile(r"equity|nav|portfolio|curve|daily|ledger|account|returns?|value", re.I)
HINT_RETURNS = re.compile(r"returns?(?:[^a-z]|$)", re.I)
HINT_NO_CURVE = re.compile(r"cash_?-? ?flow|deposit|withdraw|contribution|dividend|split|corporate_?action", re.I)
MEMBER_FROM = (
    "from",
    "start",
    "startdate",
    "added",
    "dateadded",
    "addeddate",
    "addedon",
    "datefrom",
    "fromdate",
    "firstdate",
    "first",
    "entered",
    "joined",
    "datejoined",
    "inclusiondate",
    "included",
    "effectivefrom",
    "validfrom",
    "memberfrom",
    "membersince",
    "since",
    "indate",
)
MEMBER_TO = (
    "to",
    "end",
    "enddate",
    "removed",
    "dateremoved",
    "removeddate",
    "removedon",
    "dateto",
    "todate",
    "lastdate",
    "last",
    "left",
    "dateleft",
    "exclusiondate",
    "excluded",
    "effectiveto",
    "validto",
    "memberto",
    "memberuntil",
    "until",
    "outdate",
    "thru",
    "through",
)
