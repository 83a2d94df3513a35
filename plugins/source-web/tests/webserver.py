"""Pages of the web on this machine, for tests."""

import json
import threading
from contextlib import contextmanager
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from finassay_source_web.dates import Told
from finassay_source_web.pages import Opener

LATE = date(2024, 1, 1)
LD = json.dumps(
    {"@context": "https://schema.org", "@type": "NewsArticle", "headline": "Results", "datePublished": "2023-02-14T08:00:00-05:00"}
)
BODY = "<p>Acme reported net sales of $1,234 million for fiscal 2022.</p><p>It was the best year of the company.</p>"


def html(head, body=BODY):
    return f"<html><head><title>Acme  results</title>{head}</head><body>{body}</body></html>".encode()


@contextmanager
def serving(answers):
    """A server on this machine: path to (status, headers, body) or a function that writes to the handler."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append((self.path, dict(self.headers)))
            answer = answers.get(self.path, (404, {}, b""))
            if callable(answer):
                answer(self)
                return
            status, headers, body = answer
            self.send_response(status)
            for name, value in {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://news.example:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def opener(**more):
    """Opens pages of this machine, by whatever name."""
    return Opener(**{"resolve": lambda host, port: ["127.0.0.1"], "allowed": lambda address, port: True, **more})


DAY = date(2023, 2, 14)
HEADS = {
    "JSON-LD": (f'<script type="application/ld+json">{LD}</script>', Told(DAY)),
    "JSON-LD in a graph": (f'<script type="application/ld+json">{{"@graph": [{{"@type": "Organization", "datePublished": "2020-01-01"}}, {LD}]}}</script>', Told(DAY)),
    "article:published_time": ('<meta property="article:published_time" content="2023-02-14T09:00:00+00:00">', Told(DAY)),
    "Dublin Core": ('<meta name="DCTERMS.issued" content="2023-02-14">', Told(DAY)),
    "scholarly": ('<meta name="citation_publication_date" content="2023/02/14">', Told(DAY)),
    "microdata": ("</head><body><time itemprop='datePublished' datetime='2023-02-14'>yesterday</time>", Told(DAY)),
    "changed later": (f'<script type="application/ld+json">{LD}</script><meta property="article:modified_time" content="2024-05-01">', Told(DAY, date(2024, 5, 1))),
    "several days": (f'<script type="application/ld+json">{LD}</script><meta name="date" content="2023-03-01">', Told(date(2023, 3, 1))),
    "changed alone": ('<meta property="article:modified_time" content="2023-02-14">', Told(None, None)),
    "broken JSON": ('<script type="application/ld+json">{"datePublished": "2023-02-14"</script>', Told()),
    "of a company": ('<script type="application/ld+json">{"@type": "Organization", "datePublished": "2023-02-14"}</script>', Told()),
    "in words alone": ("", Told()),
}  # fmt: skip
