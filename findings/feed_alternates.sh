#!/usr/bin/env bash
# Two readers of feeds take different addresses for the same entry of an Atom feed.
#
# Packages: feedparser 6.0.14 (Python), rss-parser 3.13.0 (Node.js).
# Guess:    RFC 4287, 4.1.2 allows several alternates of an entry if their languages or types differ. Readers agree on one of them.
# Seen:     feedparser's `link` is the last alternate, rss-parser's the first.
# So:       an entry of a page with translations should have one alternate, the page itself.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check feedparser==6.0.14
npm install --silent --no-audit --no-fund rss-parser@3.13.0

cat >feed.atom <<'XML'
<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <id>https://www.example.com/feed</id><title>Example</title><updated>2026-03-01T10:20:30Z</updated><author><name>Ana</name></author>
  <entry>
    <id>https://www.example.com/en</id><title>Soup</title><updated>2026-03-01T10:20:30Z</updated>
    <link rel="alternate" hreflang="en" href="https://www.example.com/en"/>
    <link rel="alternate" hreflang="de" href="https://www.example.com/de"/>
    <content>Soup</content>
  </entry>
</feed>
XML
cat >read.mjs <<'JS'
import { readFileSync } from "node:fs";

import Parser from "rss-parser";

const feed = await new Parser().parseString(readFileSync("feed.atom", "utf8"));
console.log("rss-parser", feed.items[0].link);
JS
{
  timeout 60 venv/bin/python -c 'import feedparser; print("feedparser", feedparser.parse(open("feed.atom", "rb").read()).entries[0].link)'
  timeout 60 node read.mjs
} | tee seen
cat >expected <<'TEXT'
feedparser https://www.example.com/de
rss-parser https://www.example.com/en
TEXT
diff expected seen || { echo "this has changed" >&2; exit 1; }
