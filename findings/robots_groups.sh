#!/usr/bin/env bash
# A line that is no rule, between two User-agent lines of robots.txt, takes the rules from the agents before it.
#
# Packages: protego 0.7.0 (Python, the reader of Scrapy), robots-parser 3.0.1 (Node.js).
# Guess:    RFC 9309, 2.2.4: other records do not interfere with groups. So both agents of this file are disallowed, whatever
#           the line between them is:
#               User-agent: examplebot
#               Crawl-delay: 1
#               User-agent: otherbot
#               Disallow: /
# Seen:     protego ends the group at Crawl-delay, Content-Signal and any unknown line, but not at Sitemap, Host, a comment or a
#           blank line. robots-parser ends it at every line, Sitemap included, but not at a comment or a blank line. Then
#           examplebot may fetch everything.
# So:       a site's rules for several agents hold in all readers only if nothing stands between the User-agent lines.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check protego==0.7.0
npm install --silent --no-audit --no-fund robots-parser@3.0.1

cat >read.py <<'PY'
from protego import Protego

for line in ["", "# a comment", " ", "Host: www.example.com", "Sitemap: https://www.example.com/sitemap.xml", "Crawl-delay: 1",
             "Content-Signal: search=yes", "Something: else"]:
    robots = Protego.parse(f"User-agent: examplebot\n{line}\nUser-agent: otherbot\nDisallow: /\n")
    shut = [agent for agent in ["examplebot", "otherbot"] if not robots.can_fetch("https://www.example.com/a", agent)]
    print(f"protego       {line.split(':')[0].strip() or 'blank':<15} disallows {' and '.join(shut)}")
PY
cat >read.mjs <<'JS'
import robotsParser from "robots-parser";

for (const line of ["", "# a comment", " ", "Host: www.example.com", "Sitemap: https://www.example.com/sitemap.xml", "Crawl-delay: 1",
  "Content-Signal: search=yes", "Something: else"]) {
  const text = `User-agent: examplebot\n${line}\nUser-agent: otherbot\nDisallow: /\n`;
  const robots = robotsParser("https://www.example.com/robots.txt", text);
  const shut = ["examplebot", "otherbot"].filter((agent) => robots.isDisallowed("https://www.example.com/a", agent));
  console.log(`robots-parser ${(line.split(":")[0].trim() || "blank").padEnd(15)} disallows ${shut.join(" and ")}`);
}
JS
{ timeout 60 venv/bin/python read.py; timeout 60 node read.mjs; } | sort -u | tee seen
sort -u >expected <<'TXT'
protego       # a comment     disallows examplebot and otherbot
protego       Content-Signal  disallows otherbot
protego       Crawl-delay     disallows otherbot
protego       Host            disallows examplebot and otherbot
protego       Sitemap         disallows examplebot and otherbot
protego       Something       disallows otherbot
protego       blank           disallows examplebot and otherbot
robots-parser # a comment     disallows examplebot and otherbot
robots-parser Content-Signal  disallows otherbot
robots-parser Crawl-delay     disallows otherbot
robots-parser Host            disallows otherbot
robots-parser Sitemap         disallows otherbot
robots-parser Something       disallows otherbot
robots-parser blank           disallows examplebot and otherbot
TXT
diff expected seen || { echo "this has changed" >&2; exit 1; }
