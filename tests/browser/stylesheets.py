#!/usr/bin/env python3
"""What the XSLT makes of indexes and sitemaps, by libxslt, which is also Chromium's processor.

Browsers give XSLT up one after the other, so that this cannot be tested in one for long."""
import pathlib
import sys

from lxml import etree

ASSETS = pathlib.Path(__file__).resolve().parents[2] / "shared/front/src/assets"
SITEMAPS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
NAMESPACES = " ".join([
    SITEMAPS, 'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"', 'xmlns:xhtml="http://www.w3.org/1999/xhtml"',
    'xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"', 'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'])
MARKUP = "&lt;script&gt;alert(1)&lt;/script&gt;"

INDEX = f"""<sitemapindex {SITEMAPS}>
<sitemap><loc>https://a.example/post-sitemap.xml</loc><lastmod>2026-01-02T03:04:05+00:00</lastmod></sitemap>
<sitemap><loc>https://a.example/page-sitemap.xml</loc></sitemap></sitemapindex>"""
PAGES = f"""<urlset {NAMESPACES}>
<url><loc>https://a.example/?a=1&amp;b=2</loc><lastmod>2026-01-02</lastmod><changefreq>weekly</changefreq><priority>0.8</priority>
<image:image><image:loc>https://i.example/1</image:loc></image:image><image:image><image:loc>https://i.example/2</image:loc></image:image>
<xhtml:link rel="alternate" hreflang="de" href="https://a.example/de/"/></url>
<url><loc>https://a.example/{MARKUP}</loc></url></urlset>"""
VIDEOS = f"""<urlset {NAMESPACES}><url><loc>https://a.example/</loc><lastmod>2026-01-02T03:04:05+00:00</lastmod>
<video:video><video:thumbnail_loc>https://i.example/1</video:thumbnail_loc><video:title>{MARKUP}</video:title>
<video:description>d</video:description><video:content_loc>https://v.example/file</video:content_loc>
<video:player_loc>https://v.example/player</video:player_loc><video:duration>65</video:duration></video:video>
<video:video><video:title>Two</video:title><video:content_loc>https://v.example/two</video:content_loc>
<video:publication_date>2026-02-03T00:00:00+00:00</video:publication_date></video:video></url></urlset>"""
NEWS = f"""<urlset {NAMESPACES}><url><loc>https://a.example/snow</loc><news:news><news:publication><news:name>Larch</news:name>
<news:language>en</news:language></news:publication><news:publication_date>2026-01-02T03:04:05+00:00</news:publication_date>
<news:title>Snow {MARKUP}</news:title></news:news></url></urlset>"""

# Style sheet, document, what is counted, the links, and the texts of the cells.
CASES = [
    ("sitemap.xsl", INDEX, "Sitemaps: 2", ["/post-sitemap.xml", "/page-sitemap.xml"],
     ["1", "https://a.example/post-sitemap.xml", "2026-01-02 03:04", "2", "https://a.example/page-sitemap.xml", ""]),
    ("sitemap.xsl", PAGES, "URLs: 2, images: 2", ["/?a=1&b=2", "/de/", "/<script>alert(1)</script>"],
     ["1", "https://a.example/?a=1&b=2", "2026-01-02", "2", "de", "weekly", "0.8",
      "2", "https://a.example/<script>alert(1)</script>", "", "", "", "", ""]),
    ("video-sitemap.xsl", VIDEOS, "URLs: 1, videos: 2", ["/", "https://v.example/player", "https://v.example/two"],
     ["1", "https://a.example/ <script>alert(1)</script> 1:05 Two 2026-02-03", "2026-01-02 03:04"]),
    ("news-sitemap.xsl", NEWS, "Articles: 1", ["/snow"],
     ["1", "Snow <script>alert(1)</script> https://a.example/snow", "2026-01-02 03:04", "Larch en"]),
]


def words(element):
    return " ".join(" ".join(element.itertext()).split())


def check(sheet, document, count, links, cells):
    page = etree.XSLT(etree.parse(ASSETS / sheet))(etree.fromstring(document))
    # As a browser would read it.
    html = etree.HTML(etree.tostring(page, method="html", encoding="unicode"))
    found = {
        "count": words(html.find(".//p[@id='counts']")),
        "links": [a.get("href") for a in html.iterfind(".//table//a")],
        "cells": [words(cell) for cell in html.iterfind(".//td")],
        "scripts": len(html.findall(".//script")),
    }
    site = "https://a.example"
    wanted = {"count": count, "links": [link if "://" in link else site + link for link in links], "cells": cells, "scripts": 0}
    # libxslt escapes an address in an attribute as HTML asks.
    found["links"] = [link.replace("%3C", "<").replace("%3E", ">") for link in found["links"]]
    if len(html.findall(".//th")) * len(html.findall(".//tbody/tr")) != len(cells):
        yield "columns have no heading"
    for what, value in wanted.items():
        if found[what] != value:
            yield f"{what}\n    found  {found[what]}\n    wanted {value}"


def main():
    wrong = [f"{case[0]}: {problem}" for case in CASES for problem in check(*case)]
    print("\n".join(wrong) or f"{len(CASES)} documents are shown by XSLT as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
