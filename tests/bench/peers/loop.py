"""What one writes by hand: a loop over the records that escapes and prints."""

import gzip
import json
import sys
from xml.sax.saxutils import escape

with open(sys.argv[1], encoding="utf-8") as records, gzip.open(sys.argv[2], "wt", 6, encoding="utf-8") as out:
    out.write('<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"')
    out.write(' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">\n')
    for line in records:
        record = json.loads(line)
        images = "".join(f"<image:image><image:loc>{escape(image['url'])}</image:loc></image:image>" for image in record["images"])
        out.write(f"<url><loc>{escape(record['url'])}</loc><lastmod>{record['modified_at']}</lastmod>{images}</url>\n")
    out.write("</urlset>\n")
