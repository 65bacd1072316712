#!/usr/bin/env bash
# The view for people and the page of `waymark crawl` in real browsers, and the XSLT through a processor. Starts and ends a local stack.
#
#     tests/browser/run.sh [WAYMARK]     the binary [target/debug/waymark]
#
# Installs what it needs: Debian's chromium and firefox-esr, lxml, axe-core, and playwright-core and puppeteer-core, which
# bring no browser of their own. Needs Node 20 and python3 with venv. Screenshots go to target/browser.
set -euo pipefail
cd "$(dirname "$0")/../.."

export WAYMARK=${1:-$PWD/target/debug/waymark}
export CHROMIUM=${CHROMIUM:-/usr/bin/chromium} FIREFOX=${FIREFOX:-/usr/bin/firefox-esr}
tools=$PWD/target/tools

[ -x "$CHROMIUM" ] || { apt-get update && apt-get install -y --no-install-recommends chromium fonts-dejavu-core; }
[ -x "$FIREFOX" ] || { apt-get update && apt-get install -y --no-install-recommends firefox-esr fonts-dejavu-core; }
[ -d "$tools/browser/node_modules/puppeteer-core" ] ||
  npm install --silent --no-save --no-audit --no-fund --prefix "$tools/browser" playwright-core@1.65.1 puppeteer-core@24.43.1 axe-core@4.14.1
[ -x "$tools/venv/bin/python" ] || python3 -m venv "$tools/venv"
"$tools/venv/bin/python" -c 'import lxml' 2>/dev/null ||
  "$tools/venv/bin/pip" install --quiet --disable-pip-version-check lxml

"$tools/venv/bin/python" tests/browser/stylesheets.py
# Prints pages of `waymark crawl`. The tests have built it already, with the features that crates have in the whole workspace.
CARGO_INCREMENTAL=0 cargo build --quiet --workspace --example page
# In milliseconds, of all together; each test has a limit of its own.
node --test --test-timeout=3000000 --test-reporter=spec tests/browser/all.mjs
