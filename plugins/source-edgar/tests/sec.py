"""A loopback server that answers as the SEC's interfaces do."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

CIK = 1234567
TENK = "acme-20191231.htm"
PAGE = '<p style="page-break-after:always">{}</p>'
HTML = (
    "<html><head><title>10-K</title><style>p{color:red}</style></head><body><div style='display:none'>hidden words</div>"
    "<p>ACME TOOLS INC annual report of the company</p><hr style='page-break-after:always'/>"
    "<table><tr><td>(In millions)</td><td>2019</td><td>2018</td></tr><tr><td>Revenue</td><td>$</td><td>1,234</td><td>$</td><td>(</td><td>56</td><td>)</td></tr>"
    "<tr><td>Net income</td><td>86</td><td>70</td></tr></table><script>alert('revenue')</script></body></html>"
)


def columns(rows):
    names = (
        "accessionNumber",
        "filingDate",
        "reportDate",
        "acceptanceDateTime",
        "act",
        "form",
        "fileNumber",
        "filmNumber",
        "items",
        "size",
        "isXBRL",
    )
    names += ("isInlineXBRL", "primaryDocument", "primaryDocDescription")
    return {name: [row.get(name, "") for row in rows] for name in names}


def row(accession, filed, reported, form, name):
    return {
        "accessionNumber": accession,
        "filingDate": filed,
        "reportDate": reported,
        "form": form,
        "primaryDocument": name,
        "primaryDocDescription": form,
    }


RECENT = [
    row("0001234567-21-000004", "2021-02-20", "2020-12-31", "10-K", "acme-20201231.htm"),
    row("0001234567-20-000003", "2020-02-20", "2019-12-31", "10-K", TENK),
    row("0001234567-20-000002", "2020-02-01", "2020-02-01", "4", "xslF345X03/wf-form4.xml"),
]
OLDER = [row("0001234567-10-000001", "2010-02-20", "2009-12-31", "10-K", "a2009.txt")]
FACT = {
    "end": "2019-12-31",
    "val": 1234000000,
    "accn": "0001234567-20-000003",
    "fy": 2019,
    "fp": "FY",
    "form": "10-K",
    "filed": "2020-02-20",
}
FACTS = {
    "cik": CIK,
    "entityName": "ACME TOOLS INC",
    "facts": {"us-gaap": {"Revenues": {"label": "Revenues", "description": "…", "units": {"USD": [
        {**FACT, "start": "2019-01-01"}, {**FACT, "start": "2020-01-01", "end": "2020-12-31", "val": 1300000000, "filed": "2021-02-20"}]}},
        "Assets": {"label": "Assets", "description": None, "units": {"USD": [FACT]}}}},
}  # fmt: skip


def hit(accession, name, filed):
    source = {
        "ciks": [f"{CIK:010d}"], "period_ending": "2019-12-31", "file_num": ["001-1"], "display_names": [f"ACME TOOLS INC  (ACM)  (CIK {CIK:010d})"],
        "xsl": None, "sequence": 1, "root_forms": ["10-K"], "file_date": filed, "form": "10-K", "adsh": accession, "file_type": "10-K",
    }  # fmt: skip
    return {"_index": "edgar_file", "_id": f"{accession}:{name}", "_score": 9.1, "_source": source}


def answer(path, query):
    files = {
        "/files/company_tickers.json": {"0": {"cik_str": CIK, "ticker": "ACM", "title": "ACME TOOLS INC"}, "1": {"cik_str": 9, "ticker": "Z", "title": "Zeta Corp"}},
        f"/submissions/CIK{CIK:010d}.json": {
            "cik": str(CIK), "name": "ACME TOOLS INC", "tickers": ["ACM"], "exchanges": ["NYSE"],
            "filings": {"recent": columns(RECENT), "files": [{"name": f"CIK{CIK:010d}-submissions-001.json", "filingCount": 1, "filingFrom": "2009-01-01", "filingTo": "2015-01-01"}]},
        },
        f"/submissions/CIK{CIK:010d}-submissions-001.json": columns(OLDER),
        f"/api/xbrl/companyfacts/CIK{CIK:010d}.json": FACTS,
    }  # fmt: skip
    if path in files:
        return 200, json.dumps(files[path]).encode()
    if path == "/LATEST/search-index":
        every = [
            hit("0001234567-20-000003", TENK, "2020-02-20"),
            hit("0001234567-21-000004", "acme-20201231.htm", "2021-02-20"),
            {"_id": "junk"},
        ]
        # As the real one sometimes does: the end of the range is not kept to.
        return 200, json.dumps(
            {"took": 3, "hits": {"total": {"value": 3, "relation": "eq"}, "hits": every if "revenue" in query["q"][0] else []}}
        ).encode()
    documents = {
        f"/Archives/edgar/data/{CIK}/000123456720000003/{TENK}": HTML,
        f"/Archives/edgar/data/{CIK}/000123456720000003/ex21.htm": "<p>Subsidiaries</p>",
        f"/Archives/edgar/data/{CIK}/000123456721000004/acme-20201231.htm": HTML.replace("1,234", "1,300"),
        f"/Archives/edgar/data/{CIK}/000123456710000001/a2009.txt": "ANNUAL REPORT\n\fRevenue 9",
    }
    return (200, documents[path].encode()) if path in documents else (404, b"<html>Not Found</html>")


@contextmanager
def sec(broken=lambda path, count: None):
    """(address, list of (path, User-Agent)); `broken(path, count)` may give another (status, body)."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            parts = urlsplit(self.path)
            asked.append((parts.path, self.headers["User-Agent"]))
            count = sum(path == parts.path for path, _ in asked)
            status, body = broken(parts.path, count) or answer(parts.path, parse_qs(parts.query))
            self.send_response(status)
            if status == 301:
                self.send_header("Location", "http://example.com/")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()
