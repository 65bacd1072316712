#!/usr/bin/env python3
"""`waymark check` says of a document that it is invalid exactly if lxml does with the official schemas. Of a valid document it has
no error, unless a search engine refuses what is in it.

    verdicts_test.py --xsd DIR [--command target/debug/waymark]

The documents: the valid ones of documents_test.py with each of its faults, valid and not, and those below. Exit status: 1 if one
is judged in two ways, or a valid one has such an error."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from lxml import etree

from documents_test import FAULTS, GOOD, INDEX, INDEX_FAULTS

SCHEMAS = "http://www.google.com/schemas/sitemap-"
HEAD = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="%simage/1.1" xmlns:news="%snews/0.9" ' % (SCHEMAS, SCHEMAS)
HEAD += 'xmlns:video="%svideo/1.1" xmlns:xhtml="http://www.w3.org/1999/xhtml">' % SCHEMAS
LOC = "<loc>https://www.example.com/a/</loc>"
VIDEO = (
    "<video:thumbnail_loc>https://i.example/1</video:thumbnail_loc><video:title>t</video:title>"
    "<video:description>d</video:description><video:content_loc>https://v.example/1</video:content_loc>"
)


# Errors that valid documents may have: a rule, a part of its message, and who says that it refuses what breaks the rule.
SITEMAPS, REPORT = "https://developers.google.com/search/docs/crawling-indexing/sitemaps/", "https://support.google.com/webmasters/answer/7451001"
LANGUAGES = "https://developers.google.com/search/docs/specialty/international/localized-versions"
REFUSED = {
    ("loc.form", ""): REPORT,  # "Invalid URL"
    ("loc.length", "more than 2047"): "https://www.sitemaps.org/protocol.html",
    ("lastmod.w3c", ""): REPORT,  # "Invalid date"
    ("file.schema", "has no <news:title>"): SITEMAPS + "news-sitemap",
    ("ext.video_required", "neither <video:content_loc> nor <video:player_loc>"): SITEMAPS + "video-sitemaps",
    ("ext.hreflang_code", ""): LANGUAGES,
    ("ext.link", ""): LANGUAGES,
}


def urlset(entries):
    return HEAD + entries + "</urlset>"


def entry(rest):
    return urlset("<url>" + LOC + rest + "</url>")


def video(rest):
    return entry("<video:video>" + VIDEO + rest + "</video:video>")


def news(language, date, rest=""):
    publication = "<news:publication><news:name>N</news:name><news:language>%s</news:language></news:publication>" % language
    date = "<news:publication_date>%s</news:publication_date>" % date
    return entry("<news:news>" + publication + rest + date + "<news:title>T</news:title></news:news>")


def link(hreflang):
    return entry('<xhtml:link rel="alternate" hreflang="%s" href="https://a.example/"/>' % hreflang)


def documents():
    """Texts of documents, some of them no XML at all."""
    for good, faults in ((GOOD, FAULTS), (INDEX, INDEX_FAULTS)):
        yield good
        for fault in faults:
            yield good.replace(fault.old, fault.new)
    for value in (
        "2020-01", "2020-01-01", "2020-01-01Z", "2020-01-01T10:20Z", "2020-01-01T10:20:30", "2020-01-01T24:00:00Z", " 2020-01-01 ",
        "2020-02-30", "0000-01-01", "2020-01-01T10:20:30.5+14:00", "2020-01-01T10:20:30+14:01", "", "x",
    ):
        yield entry("<lastmod>%s</lastmod>" % value)
    for value in ("0.5", "1.1", "1e0", ".5", "", "+1", " 1 "):
        yield entry("<priority>%s</priority>" % value)
    for value in ("daily", " daily", "DAILY", ""):
        yield entry("<changefreq>%s</changefreq>" % value)
    yield from map(entry, (
        "", "<priority>1</priority><lastmod>2020-01-01</lastmod>", LOC, "text", "<x/>", '<a xmlns="urn:x"/>', "<image:image/>",
        "<image:image><image:loc>x</image:loc></image:image><lastmod>2020-01-01</lastmod>",
        "<image:image><image:title>x</image:title><image:loc>x</image:loc></image:image>",
        "<image:image><image:loc>x</image:loc><image:width>1</image:width></image:image>",
        '<xhtml:link foo="1"/>', '<xhtml:link rel="alternate">x</xhtml:link>', "&nbsp;", "<!-- a -- b -->", "<y:a/>",
        '<image:image a="1" a="2"/>', "<![CDATA[ ]]>", "<![CDATA[x]]>", "&#1;", "&#x41;", '<xhtml:link rel="alternate" hreflang="de"/>',
        '<xhtml:link rel="alternate" href="android-app://com.example.app/https/a.example/"/>', '<xhtml:link rel="alternate" ref="x"/>',
        '<xhtml:link rel="alternate" media="only screen and (max-width: 640px)" href="https://m.example.com/a/"/>',
    ))
    for loc in (
        "<![CDATA[https://a.example/?a=1&b=2]]>", "https://a.example/?a=1&#038;b=2", "\n https://a.example/1\n", "https://a.example/<!-- -->1",
        "https://a.example/<?a b?>1", "HTTPS://A.EXAMPLE/1", "https://b\u00fccher.example/", "https://a.example/?a=%e6%97%a5", "https://a.example:443/",
    ):
        yield urlset("<url><loc>%s</loc></url>" % loc)
    # The same elements with a prefix, and without a namespace.
    for declared, prefix in (("xmlns:s", "s:"), ("xmlns:s", ""), ("xmlns", "s:")):
        names = [prefix + name for name in ("urlset", "url", "loc")]
        head = '<%s %s="http://www.sitemaps.org/schemas/sitemap/0.9">' % (names[0], declared)
        yield head + "<{1}><{2}>https://a.example/1</{2}></{1}></{0}>".format(*names)
    yield from map(urlset, (
        "", "<url/>", "text", '<url a="b">' + LOC + "</url>", "<url><loc>a</loc></url>",
        "<url><loc>https://a.example/%s</loc></url>" % ("a" * 2_030), "<url><loc>https://a.example/%s</loc></url>" % ("a" * 2_031),
    ))
    yield from map(video, (
        "", "<video:duration>28801</video:duration>", "<video:duration>1.0</video:duration>", "<video:rating>5.1</video:rating>",
        "<video:tag>a</video:tag>" * 32, "<video:tag>a</video:tag>" * 33, "<video:live>maybe</video:live>",
        "<video:live>no</video:live><video:tag>x</video:tag>", "<video:platform>web</video:platform>",
        '<video:platform relationship="allow">web tv</video:platform>', '<video:platform relationship="allow">radio</video:platform>',
        '<video:restriction relationship="no">DE</video:restriction>', '<video:restriction relationship="deny">DE  AT</video:restriction>',
        '<video:restriction relationship="deny">de</video:restriction>', '<video:uploader info="x" foo="y">M</video:uploader>',
        '<video:price currency="eur">1</video:price>', '<video:price currency="EUR">1</video:price>', "<video:id>1</video:id>",
        '<video:id type="url">1</video:id>', "<video:tvshow><video:video_type>full</video:video_type></video:tvshow>",
        "<video:category>%s</video:category>" % ("a" * 257),
    ))
    for title in ("ü" * 100, "ü" * 101):
        yield video("").replace(">t<", ">%s<" % title)
    yield video("").replace("<video:title>t</video:title>", "")
    yield from (news(language, "2026-11-24") for language in ("en", "en-GB", "zh-cn", "eng", "EN", ""))
    yield news("en", "x")
    for rest in ("<news:access>No</news:access>", "<news:genres>Blog, Satire</news:genres>", "<news:genres>Blog,Nope</news:genres>"):
        yield news("en", "2026-11-24", rest)
    yield from map(link, ("en", "en_US", "x-default", "xx-YYYY", "toolonglang", "", "en-UK", "sr-SP", "zh-Hant-HK", "es-419"))
    good = entry("")
    yield from (
        good + "x", good + "<x/>", good.replace("</url>", ""), ' <?xml version="1.0"?>' + good, good[:-5], "", "x", "{}", "<a/>",
        good.replace("0.9", "0.8"), "<!DOCTYPE urlset>" + good, "\ufeff" + good, '<?xml version="1.0" encoding="us-ascii"?>' + good,
        '<?xml version="1.0" encoding="UTF-8"?>' + good, '<?xml version="1.1"?>' + good,
        good.replace("<url>", "<url >").replace("</url>", "</url\n>"), good.replace("<url>", "<?a b?><url>"),
        good.replace("</loc>", "]]></loc>"), good.replace("/a/", "/a&amp;b/"), good.replace("/a/", "/a&b/"),
    )


def addresses():
    """Documents with an address in each place that has one."""
    for url in (
        "#a#b", ":x/", ":99999999999/", "/[x]", "/%", "/?%zz", "/#%zz", "/a?b[c]=d", "/é%zz", "/é", "/a b", "/#a", ":80/", ":/", "/a%20b",
    ):
        url = "https://a.example" + url
        yield urlset("<url><loc>%s</loc></url>" % url)
        yield entry("<image:image><image:loc>%s</image:loc></image:image>" % url)
        yield entry("<image:image><image:loc>https://i.example/1</image:loc><image:license>%s</image:license></image:image>" % url)
        yield entry('<xhtml:link rel="alternate" hreflang="de" href="%s"/>' % url)
        yield video("").replace("https://i.example/1", url)
    for url in (
        "https://[x/aaaaaaaaaa", "://aaaaaaaaaaaa", "https:aaaaaaaaaaaaaa", "1https://a.example/", "https://a:b:c@x.example/",
        "https://%zz.example/", "https://[::1]/aaaaaaa", "https:////aaaaaaaaaa", "/aaaaaaaaaaaaaa:b", "a_b:aaaaaaaaaaaaa", "https://@/aaaaaaaaaa",
    ):
        yield urlset("<url><loc>%s</loc></url>" % url)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xsd", required=True)
    parser.add_argument("--command", default="target/debug/waymark")
    options = parser.parse_args()
    schema = etree.XMLSchema(etree.parse(os.path.join(options.xsd, "all.xsd")))
    verdicts, texts = {}, {}
    with tempfile.TemporaryDirectory() as name:
        for number, text in enumerate(dict.fromkeys([*documents(), *addresses()])):
            path = str(pathlib.Path(name, "%d.xml" % number))
            pathlib.Path(path).write_text(text, encoding="utf-8", newline="")
            texts[path] = text
            try:
                verdicts[path] = schema.validate(etree.fromstring(text.encode(), etree.XMLParser(resolve_entities=False)))
            except etree.XMLSyntaxError:
                verdicts[path] = False
        command = [os.path.abspath(options.command), "check", *texts, "--format", "jsonl", "--fail-on", "never", "--max-findings", "10000"]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=name)
        if ended.returncode:
            sys.exit("status %d: %s" % (ended.returncode, ended.stderr))
        findings = [json.loads(line) for line in ended.stdout.splitlines()][:-1]
    ours = {finding["file"] for finding in findings if finding.get("invalid")}
    wrong = [path for path in texts if (path in ours) == verdicts[path]]
    for path in wrong:
        said = ["%s %s" % (one["rule"], one["message"]) for one in findings if one["file"] == path]
        print("lxml says %s, and waymark %s\n  %s" % ("valid" if verdicts[path] else "invalid", said, texts[path][-160:]))
    alarms = [one for one in findings if one["severity"] == "error" and verdicts[one["file"]]]
    refused = {place: [one for one in alarms if one["rule"] == place[0] and place[1] in one["message"]] for place in REFUSED}
    false = [one for one in alarms if not any(one in some for some in refused.values())]
    for one in false:
        print("a valid document has the error %s: %s\n  %s" % (one["rule"], one["message"], texts[one["file"]][-160:]))
    unused = [place for place, some in refused.items() if not some]
    for place in unused:
        print("no valid document has %s, %s" % place)
    valid = sum(verdicts.values())
    print("%d documents, %d of them valid" % (len(texts), valid))
    failed = len({*wrong, *(one["file"] for one in false)})
    print("%d passed, %d failed" % (len(texts) - failed, failed))
    return 1 if failed or unused or len(texts) < 70 or not 20 < valid < len(texts) - 20 else 0


if __name__ == "__main__":
    sys.exit(main())
