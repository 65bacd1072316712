#!/usr/bin/env python3
"""Shows that each rule of documents.py finds its fault, and nothing in a valid document.

    documents_test.py             plants each fault alone in a valid document
    documents_test.py --xsd DIR   compares with the official schemas, too"""
import argparse
import collections
import os
import sys

from lxml import etree

import documents

GOOD = """<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"
  xmlns:video="http://www.google.com/schemas/sitemap-video/1.1" xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"
  xmlns:xhtml="http://www.w3.org/1999/xhtml" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
  xsi:schemaLocation="http://www.sitemaps.org/schemas/sitemap/0.9 sitemap.xsd">
<!-- A comment is no element. -->
<url><loc>https://a.example/1</loc><lastmod>2024-02-29</lastmod><changefreq>daily</changefreq><priority>0.5</priority>
  <image:image><image:loc>https://a.example/%C3%A9.jpg?a=1&amp;b=2</image:loc></image:image>
  <xhtml:link rel="alternate" hreflang="zh-Hant" href="https://a.example/1"/>
  <xhtml:link rel="alternate" hreflang="x-default" href="https://a.example/1"/>
</url>
<url><loc>https://a.example/2</loc><lastmod>2024-02-29T23:59:59.5+05:30</lastmod>
  <video:video><video:thumbnail_loc>https://a.example/t.png</video:thumbnail_loc><video:title>Title</video:title>
    <video:description>Text</video:description><video:content_loc>https://a.example/v.mp4</video:content_loc>
    <video:player_loc>https://a.example/p</video:player_loc><video:duration>28800</video:duration>
    <video:expiration_date>2099-01-01</video:expiration_date><video:rating>4.9</video:rating>
    <video:view_count>7</video:view_count><video:publication_date>2024-01-01T00:00:00Z</video:publication_date>
    <video:tag>one</video:tag><video:tag>two</video:tag><video:family_friendly>yes</video:family_friendly>
    <video:restriction relationship="deny">DE AT</video:restriction>
    <video:requires_subscription>no</video:requires_subscription>
    <video:uploader info="https://a.example/u">Name</video:uploader>
    <video:platform relationship="allow">web tv</video:platform><video:live>no</video:live></video:video>
  <video:video><video:thumbnail_loc>https://a.example/t.png</video:thumbnail_loc><video:title>Second</video:title>
    <video:description>Text</video:description><video:player_loc>https://a.example/p2</video:player_loc></video:video>
</url>
<url><loc>https://a.example/3</loc>
  <news:news><news:publication><news:name>Paper</news:name><news:language>zh-cn</news:language></news:publication>
    <news:publication_date>2024-01-01</news:publication_date><news:title>News</news:title></news:news>
</url>
</urlset>
"""
INDEX = """<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<sitemap><loc>https://a.example/post-sitemap.xml</loc><lastmod>2024-01-01T00:00:00Z</lastmod></sitemap>
<sitemap><loc>https://a.example/page-sitemap.xml</loc></sitemap>
</sitemapindex>
"""
ELEMENTS, REQUIRED, VALUES = "rule.elements", "rule.required", "rule.values"
# Replacing `old` with `new` is a fault that `check` finds, and that the schemas find too unless they are `lax`.
Fault = collections.namedtuple("Fault", "check old new lax", defaults=(False,))
LASTMOD, IMAGE = "<lastmod>2024-02-29</lastmod>", "<image:image><image:loc>https://a.example/</image:loc></image:image>"
LINK = '<xhtml:link rel="alternate" hreflang="zh-Hant" href="https://a.example/1"/>'
THUMBNAIL = "<video:thumbnail_loc>https://a.example/t.png</video:thumbnail_loc><video:title>Title"
TEXT = "<video:description>Text</video:description><video:content"
FAULTS = [
    Fault(ELEMENTS, "urlset", "urls"),
    Fault(ELEMENTS, 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"', 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.8"'),
    Fault(ELEMENTS, "<url><loc>https://a.example/1", "<script/><url><loc>https://a.example/1"),
    Fault(ELEMENTS, "<url><loc>https://a.example/1", "stray<url><loc>https://a.example/1"),
    Fault(ELEMENTS, "<url><loc>https://a.example/1", "<url/>stray<url><loc>https://a.example/1"),
    Fault(ELEMENTS, "<url><loc>https://a.example/1", '<url id="1"><loc>https://a.example/1'),
    Fault(ELEMENTS, f"<loc>https://a.example/1</loc>{LASTMOD}", f"{LASTMOD}<loc>https://a.example/1</loc>"),
    Fault(ELEMENTS, LASTMOD, LASTMOD * 2),
    Fault(ELEMENTS, LASTMOD, "<modified>2024-02-29</modified>"),
    Fault(ELEMENTS, LASTMOD, "<lastmod><b>2024-02-29</b></lastmod>"),
    Fault(ELEMENTS, "<priority>0.5</priority>", f"{IMAGE}<priority>1</priority>"),
    Fault(ELEMENTS, "image:image>", "image:picture>"),
    Fault(ELEMENTS, LINK, LINK.replace("/>", ">text</xhtml:link>")),
    Fault(ELEMENTS, LINK, LINK.replace("hreflang", 'lang="en" hreflang'), lax=True),
    Fault(ELEMENTS, "<video:title>Title</video:title>", "<video:width>1</video:width><video:title>Title</video:title>"),
    Fault(ELEMENTS, "<video:tag>one</video:tag>", "<video:tag>one</video:tag>" * 32),
    Fault(ELEMENTS, "<video:title>Second</video:title>\n    <video:description>Text</video:description>",
          "<video:description>Text</video:description><video:title>Second</video:title>"),
    Fault(ELEMENTS, '<video:platform relationship="allow">', '<video:platform relationship="allow" since="1">'),
    Fault(ELEMENTS, "<news:title>News</news:title>", "<news:title>News</news:title>" * 2),
    Fault(REQUIRED, "<loc>https://a.example/1</loc>", ""),
    Fault(REQUIRED, "<image:loc>https://a.example/%C3%A9.jpg?a=1&amp;b=2</image:loc>", ""),
    Fault(REQUIRED, ' hreflang="zh-Hant"', "", lax=True),
    Fault(REQUIRED, ' hreflang="zh-Hant" href="https://a.example/1"', ' hreflang="zh-Hant"', lax=True),
    Fault(REQUIRED, 'rel="alternate" hreflang="zh-Hant"', 'hreflang="zh-Hant"', lax=True),
    Fault(REQUIRED, "<video:title>Title</video:title>", ""),
    Fault(REQUIRED, TEXT, "<video:content"),
    Fault(REQUIRED, THUMBNAIL, "<video:title>Title"),
    Fault(REQUIRED, "<video:player_loc>https://a.example/p2</video:player_loc>", "", lax=True),
    Fault(REQUIRED, ' relationship="deny"', ""),
    Fault(REQUIRED, ' relationship="allow"', ""),
    Fault(REQUIRED, "<news:name>Paper</news:name>", ""),
    Fault(REQUIRED, "<news:language>zh-cn</news:language>", ""),
    Fault(REQUIRED, "<news:publication_date>2024-01-01</news:publication_date>", ""),
    Fault(REQUIRED, "<news:title>News</news:title>", "", lax=True),
    Fault(REQUIRED, "<news:publication><news:name>Paper</news:name><news:language>zh-cn</news:language></news:publication>", ""),
    Fault(VALUES, "<loc>https://a.example/1</loc>", "<loc>/1</loc>"),
    Fault(VALUES, "<loc>https://a.example/1</loc>", "<loc>ftp://a.example/1</loc>", lax=True),
    Fault(VALUES, "<loc>https://a.example/1</loc>", "<loc>https://a.example/é</loc>", lax=True),
    Fault(VALUES, "<loc>https://a.example/1</loc>", "<loc>https://a.example/%zz</loc>"),
    Fault(VALUES, "<loc>https://a.example/1</loc>", "<loc>https://a.example/a b</loc>", lax=True),
    Fault(VALUES, "<loc>https://a.example/1</loc>", f"<loc>https://a.example/{'1' * 2_040}</loc>"),
    Fault(VALUES, "<loc>https://a.example/1</loc>", "<loc>http://a.be</loc>"),
    Fault(VALUES, LASTMOD, "<lastmod>2023-02-29</lastmod>"),
    Fault(VALUES, LASTMOD, "<lastmod>2024-02</lastmod>"),
    Fault(VALUES, LASTMOD, "<lastmod>2024-02-29T10:20Z</lastmod>"),
    Fault(VALUES, LASTMOD, "<lastmod>2024-02-29T10:20:30</lastmod>", lax=True),
    Fault(VALUES, "<changefreq>daily", "<changefreq>Daily"),
    Fault(VALUES, "<changefreq>daily", "<changefreq>"),
    Fault(VALUES, "<priority>0.5", "<priority>1.01"),
    Fault(VALUES, "<priority>0.5", "<priority>-0.1"),
    Fault(VALUES, "<priority>0.5", "<priority>high"),
    Fault(VALUES, "<priority>0.5", "<priority>1e-1"),
    Fault(VALUES, "https://a.example/%C3%A9.jpg", "//a.example/e.jpg", lax=True),
    Fault(VALUES, 'rel="alternate" hreflang="zh-Hant"', 'rel="canonical" hreflang="zh-Hant"', lax=True),
    Fault(VALUES, 'hreflang="zh-Hant"', 'hreflang="en_US"'),
    Fault(VALUES, 'hreflang="zh-Hant" href="https://a.example/1"', 'hreflang="zh-Hant" href="/1"', lax=True),
    Fault(VALUES, "<video:title>Title", f"<video:title>{'t' * 101}"),
    Fault(VALUES, "<video:title>Title", "<video:title> ", lax=True),
    Fault(VALUES, TEXT, TEXT.replace("Text", "t" * 2_049)),
    Fault(VALUES, THUMBNAIL, THUMBNAIL.replace("https://a.example/", ""), lax=True),
    Fault(VALUES, "https://a.example/v.mp4", "v.mp4", lax=True),
    Fault(VALUES, "https://a.example/p<", "a.example/p<", lax=True),
    Fault(VALUES, "<video:duration>28800", "<video:duration>28801"),
    Fault(VALUES, "<video:duration>28800", "<video:duration>1.5"),
    Fault(VALUES, "<video:expiration_date>2099-01-01", "<video:expiration_date>2099-01-32"),
    Fault(VALUES, "<video:rating>4.9", "<video:rating>5.1"),
    Fault(VALUES, "<video:view_count>7", "<video:view_count>-7"),
    Fault(VALUES, "<video:publication_date>2024-01-01T00:00:00Z", "<video:publication_date>2024"),
    Fault(VALUES, "<video:tag>one", "<video:tag>", lax=True),
    Fault(VALUES, "<video:family_friendly>yes", "<video:family_friendly>true"),
    Fault(VALUES, "<video:requires_subscription>no", "<video:requires_subscription>0"),
    Fault(VALUES, "<video:live>no", "<video:live>never"),
    Fault(VALUES, "DE AT", "DE,AT"),
    Fault(VALUES, "web tv", "web radio"),
    Fault(VALUES, 'relationship="deny"', 'relationship="refuse"'),
    Fault(VALUES, 'info="https://a.example/u"', 'info="u"', lax=True),
    Fault(VALUES, "zh-cn", "en-GB"),
    Fault(VALUES, "<news:publication_date>2024-01-01", "<news:publication_date>yesterday"),
    Fault(VALUES, "<news:title>News", "<news:title>", lax=True),
    Fault(VALUES, "<news:name>Paper", "<news:name>", lax=True),
]
INDEX_FAULTS = [
    Fault(ELEMENTS, "<lastmod>2024-01-01T00:00:00Z</lastmod>", "<changefreq>daily</changefreq>"),
    Fault(ELEMENTS, "<sitemap><loc>https://a.example/page", "<url/><sitemap><loc>https://a.example/page"),
    Fault(REQUIRED, "<loc>https://a.example/page-sitemap.xml</loc>", ""),
    Fault(VALUES, "https://a.example/page-sitemap.xml", "page-sitemap.xml", lax=True),
    Fault(VALUES, "2024-01-01T00:00:00Z", "2024-01-01 00:00:00"),
]


def wrongs(schema):
    """What does not hold."""
    for good, faults in ((GOOD, FAULTS), (INDEX, INDEX_FAULTS)):
        root = etree.fromstring(good.encode())
        yield from (f"the good document: {problem}" for problem in documents.problems(root))
        if schema and not schema.validate(root):
            yield f"the good document, by the schemas: {schema.error_log[0].message}"
        for fault in faults:
            if fault.old not in good:
                yield f"{fault}: is not there to be replaced"
                continue
            root = etree.fromstring(good.replace(fault.old, fault.new).encode())
            found = {problem.check for problem in documents.problems(root)}
            if fault.check not in found:
                yield f"{fault}: found {sorted(found)}"
            if schema and schema.validate(root) != fault.lax:
                yield f"{fault}: the schemas say otherwise"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xsd")
    folder = parser.parse_args().xsd
    found = list(wrongs(folder and etree.XMLSchema(etree.parse(os.path.join(folder, "all.xsd")))))
    print("\n".join(found) or f"{len(FAULTS + INDEX_FAULTS)} faults are found")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
