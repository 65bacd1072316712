#!/usr/bin/env python3
"""Writes the tables in this folder with pyarrow, which shares no code with the crate that reads them, and the same rows as JSON lines.

    pip install pyarrow==26.0.1 && python3 shared/crawl/tests/tables/write.py

The columns have the names that AWS documents for CloudFront's logs in Parquet, and the rows are invented."""
import json
import pathlib

import pyarrow
import pyarrow.parquet

FOLDER = pathlib.Path(__file__).resolve().parent
# The fields of a standard log, as its text and JSON have them.
FIELDS = """date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query
cs(Cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol cs-bytes time-taken""".split()
GOOGLEBOT = "Mozilla/5.0%20(compatible;%20Googlebot/2.1;%20+http://www.google.com/bot.html)"
BROWSER = "Mozilla/5.0%20(X11;%20Linux%20x86_64;%20rv:145.0)%20Gecko/20100101%20Firefox/145.0"
ROWS = [
    # date, time, client, method, path, status, agent, query
    ("2026-11-27", "23:42:03", "66.249.66.1", "GET", "/blog/a", "200", GOOGLEBOT, "-"),
    ("2026-11-27", "23:42:04", "192.0.2.1", "GET", "/blog/a", "200", BROWSER, "utm_source=x&a=%2Fb"),
    ("2026-11-27", "23:42:05", "2001:db8::7", "HEAD", "/caf%C3%A9", "304", GOOGLEBOT, "-"),
    ("2026-11-28", "00:00:00", "198.51.100.9", "GET", "/b%2520c", "000", "-", "-"),
    ("2026-11-28", "00:00:01", "66.249.66.1", "GET", "/blog/b", "404", GOOGLEBOT, "q=1"),
    ("2026-11-28", "00:00:02", "66.249.66.1", "GET", "/robots.txt", "200", GOOGLEBOT, None),
    ("2026-11-28", "yesterday", "203.0.113.5", "GET", "/blog/b", "200", GOOGLEBOT, "-"),
]


def row(at):
    date, time, client, method, path, status, agent, query = ROWS[at]
    return [date, time, "FRA56-P4", str(1000 + at), client, method, "d111111abcdef8.cloudfront.net", path, status, "-", agent, query,
            "-", "Hit", f"request-{at}==", "www.example.com", "https", "23", "0.001"]


def column(name):
    return name.replace("(", "_").replace("-", "_").replace(")", "")


rows = [row(at) for at in range(len(ROWS))]
with (FOLDER / "cloudfront.jsonl").open("w") as out:
    for values in rows:
        out.write(json.dumps(dict(zip(FIELDS, values)), separators=(",", ":")) + "\n")
texts = pyarrow.table({column(name): pyarrow.array(values, pyarrow.string()) for name, values in zip(FIELDS, zip(*rows))})
usual = {"row_group_size": 4, "store_schema": False}
pyarrow.parquet.write_table(texts, FOLDER / "snappy.parquet", compression="snappy", **usual)
pyarrow.parquet.write_table(
    texts, FOLDER / "gzip.parquet", compression="gzip", data_page_version="2.0", write_page_checksum=True, use_dictionary=["cs_method"],
    **usual)
pyarrow.parquet.write_table(
    texts, FOLDER / "zstd.parquet", compression="zstd", use_dictionary=False, column_encoding={
        name: "DELTA_BYTE_ARRAY" if name == "cs_uri_stem" else "DELTA_LENGTH_BYTE_ARRAY" for name in texts.column_names}, **usual)
few = texts.select(["date", "time", "cs_method", "cs_uri_stem", "sc_status", "cs_User_Agent"])
pyarrow.parquet.write_table(few, FOLDER / "lz4.parquet", compression="lz4", **usual)
