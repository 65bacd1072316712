#!/usr/bin/env bash
# A sitemap that a route of next-sitemap sends is not well-formed XML once a URL has a query of two parts.
#
# Package: next-sitemap 4.2.3, from npm.
# Guess:   a function that takes URLs and returns XML escapes them, as it does with captions.
# Seen:    `getServerSideSitemap` writes `&` in a caption as `&#38;`, and copies every URL: `<loc>`, images and alternates have a bare
#          `&`. An XML parser refuses the document, so that a crawler loses all of its URLs and not only this one. With these escaped,
#          it is well-formed.
# So:      escape URLs before they are given to it, and no titles and captions.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund next-sitemap@4.2.3

cat >route.mjs <<'JS'
import { getServerSideSitemap } from "next-sitemap";

const url = (path) => `https://www.example.com/${path}?size=large&page=2`;
const page = {
  loc: url("shop"),
  lastmod: "2026-01-01",
  images: [{ loc: new URL(url("image.jpg")), caption: "Salt & pepper" }],
  alternateRefs: [{ href: url("de/shop"), hreflang: "de", hrefIsAbsolute: true }],
};
console.log(await (await getServerSideSitemap([page])).text());
JS
cat >parse.py <<'PY'
import re
import sys
import xml.dom.minidom

text = sys.stdin.read().strip()


def parsed(text):
    try:
        xml.dom.minidom.parseString(text)
        return "well-formed"
    except Exception as error:
        return str(error).split(":")[0]


print(text.count("&page=2"), "bare;", "caption escaped;" if "Salt &#38; pepper" in text else "caption as it was;", parsed(text))
print("escaped:", parsed(re.sub("&(?!#38;)", "&amp;", text)))
PY
seen=$(node route.mjs | python3 parse.py)
echo "$seen"
[ "$seen" = '3 bare; caption escaped; not well-formed (invalid token)
escaped: well-formed' ] || { echo "this has changed" >&2; exit 1; }
