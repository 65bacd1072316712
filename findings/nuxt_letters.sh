#!/usr/bin/env bash
# A page of Nuxt's whose name has a letter that is not ASCII is listed twice, once at an address that does not exist.
#
# Packages: nuxt 3.21.11, @nuxtjs/sitemap 7.6.0, from npm.
# Guess:    a generated site's sitemap has each page once, at the address of its file.
# Seen:     `pages/café.vue` is in the sitemap as `/caf%C3%A9`, for which there is a file, and as `/caf%25C3%25A9`, which is encoded twice:
#           a server looks for a folder with the name `caf%C3%A9`, which does not exist. A page in ASCII is listed once.
# So:       give such pages names in ASCII, or exclude the second address in the module's settings.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund nuxt@3.21.11 @nuxtjs/sitemap@7.6.0

cat >nuxt.config.mjs <<'JS'
export default { modules: ["@nuxtjs/sitemap"], compatibilityDate: "2026-03-01", site: { url: "https://www.example.com" } };
JS
mkdir pages
for page in index about café; do echo "<template><h1>A page</h1></template>" >"pages/$page.vue"; done
HOME=$folder NUXT_TELEMETRY_DISABLED=1 CI=1 timeout 300 npx nuxt generate >log 2>&1 || { cat log; exit 1; }
cat >read.py <<'PY'
import pathlib
import urllib.parse
from xml.etree import ElementTree

out = pathlib.Path(".output/public")
for loc in ElementTree.parse(out / "sitemap.xml").iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc"):
    path = urllib.parse.urlsplit(loc.text).path
    file = out / urllib.parse.unquote(path).strip("/") / "index.html"
    print(path, "has a file" if file.exists() else "has none")
PY
python3 read.py | sort | tee seen
cat >expected <<'TEXT'
/ has a file
/about has a file
/caf%25C3%25A9 has none
/caf%C3%A9 has a file
TEXT
diff <(sort expected) <(sort seen) || { echo "this has changed" >&2; exit 1; }
