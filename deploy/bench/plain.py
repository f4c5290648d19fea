#!/usr/bin/env python3
"""Loads all transactions of the API into a ClickHouse over HTTP: plain.py API KEY CLICKHOUSE ROWS_PER_INSERT

The script that someone writes in an afternoon, with the standard library only and its best settings: one connection for
each side, many rows in an insert, and amounts as the text that the API sent (BENCH_FLOATS=1: as floats, as json reads
them unless told otherwise)."""

import http.client
import json
import os
import sys
import urllib.parse

TABLE = """CREATE TABLE IF NOT EXISTS transactions
(
    id UUID, country LowCardinality(String), activatedAt Nullable(DateTime64(3, 'UTC')), clickedAt Nullable(DateTime64(3, 'UTC')),
    soldAt Nullable(DateTime64(3, 'UTC')), updatedAt DateTime64(3, 'UTC'), currencyCode LowCardinality(String), orderValue Decimal(18, 4),
    cashback Decimal(18, 4), status LowCardinality(String), passbackUid String, retailerId Nullable(UUID), retailerName LowCardinality(String),
    retailerLogo String, payoutId Nullable(Int64), passbackData String, cashbackOfferId Nullable(UUID), couponId Nullable(UUID), promotionId Nullable(UUID)
)
ENGINE = ReplacingMergeTree(updatedAt)
ORDER BY id"""

SETTINGS = {"database": "default", "date_time_input_format": "best_effort", "input_format_null_as_default": "1"}


class ClickHouse:
    def __init__(self, url):
        self.connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc)

    def post(self, query, data, **settings):
        path = "/?" + urllib.parse.urlencode({**settings, "query": query})
        self.connection.request("POST", path, body=data, headers={"Content-Type": "application/octet-stream"})
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            sys.exit(f"ClickHouse: {answer.status} {text.decode(errors='replace')}")


def pages(api, key):
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(api).netloc)
    number = float if os.environ.get("BENCH_FLOATS") else str
    path = "/v1/deals/transactions"
    while path:
        connection.request("GET", path, headers={"Authorization": "Bearer " + key})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            sys.exit(f"API: {answer.status}")
        page = json.loads(text, parse_float=number)
        yield page["data"]
        path = "/v1/deals/transactions?cursor=" + page["cursor"] if page.get("cursor") else None


def main():
    api, key, clickhouse, most = sys.argv[1:]
    warehouse = ClickHouse(clickhouse)
    warehouse.post(TABLE, b"", database="default")
    lines = []

    def send():
        if lines:
            warehouse.post("INSERT INTO transactions FORMAT JSONEachRow", "\n".join(lines).encode(), **SETTINGS)
            lines.clear()

    for rows in pages(api, key):
        lines.extend(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
        if len(lines) >= int(most):
            send()
    send()


main()
