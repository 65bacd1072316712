#!/usr/bin/env bash
# A generator's plugin gives the translations of a page in its sitemap without their addresses.
#
# Packages: pelican 4.12.0, pelican-sitemap 1.2.2, from PyPI.
# Guess:    an article with a translation has an alternate with the translation's language and address, as Google reads it:
#           <xhtml:link rel="alternate" hreflang="de" href="https://.../">.
# Seen:     the address is in an attribute `ref`, which the element does not have. `href` is missing, so no reader learns of a translation.
# So:       such a sitemap is well-formed and lists every page, and its translations are lost all the same.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pelican==4.12.0 pelican-sitemap==1.2.2 markdown==3.10

mkdir content
for language in en de; do
  printf 'Title: Soup %s\nDate: 2026-03-01 10:00\nSlug: soup\nLang: %s\n\nSoup.\n' "$language" "$language" >"content/$language.md"
done
cat >pelicanconf.py <<'PY'
SITEURL, SITENAME, AUTHOR, DEFAULT_LANG, PATH, TIMEZONE = "https://www.example.com", "Example", "Ana", "en", "content", "UTC"
PLUGINS = ["pelican.plugins.sitemap"]
SITEMAP = {"format": "xml"}
PY
timeout 120 venv/bin/pelican content -q -o out -s pelicanconf.py >log 2>&1 || { cat log; exit 1; }
cat >read.py <<'PY'
from xml.etree import ElementTree

for link in ElementTree.parse("out/sitemap.xml").iter("{http://www.w3.org/1999/xhtml}link"):
    print(link.get("rel"), link.get("hreflang"), "href", link.get("href"), "ref", link.get("ref"))
PY
venv/bin/python read.py | tee seen
cat >expected <<'TEXT'
alternate en href None ref https://www.example.com/soup.html
alternate de href None ref https://www.example.com/soup-de.html
TEXT
diff <(sort expected) <(sort seen) || { echo "this has changed" >&2; exit 1; }
