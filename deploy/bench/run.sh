#!/usr/bin/env bash
# Loads the same transactions with dealhouse and with what people use instead, and prints what each needed.
#
#   deploy/bench/run.sh                        100,000 transactions
#   deploy/bench/run.sh --rows 1000000         a million, which takes some minutes
#   deploy/bench/run.sh --repeat 3             the fastest of three
#
# Needs Go and npm, which brings the ClickHouse engine; python3 takes part where it is, and ingestr where it is or where
# pip can install it, into a folder that is gone afterwards (INGESTR=skip: it is not tried). The table, the figures and a
# chart are in dist/bench afterwards (--output DIR).
set -euo pipefail
cd "$(dirname "$0")/../.."

ingestr=1.1.76
programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT
CGO_ENABLED=0 go build -o "$programs" ./cmd/dealhouse ./cmd/dealsim ./deploy/bench
if [ "${INGESTR:-}" != skip ] && ! command -v ingestr >/dev/null &&
    python3 -m venv "$programs/venv" 2>/dev/null &&
    "$programs/venv/bin/pip" --quiet --disable-pip-version-check --retries 0 --timeout 15 install "ingestr==$ingestr" 2>/dev/null; then
    PATH="$PATH:$programs/venv/bin"
fi
"$programs/bench" --dealhouse "$programs/dealhouse" --dealsim "$programs/dealsim" "$@"
