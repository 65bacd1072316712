#!/usr/bin/env python3
"""Checks a published site from outside: robots.txt, the index, every sitemap, HTTP headers and routes. It knows no Waymark.

    check_site.py BASE [--expected urls.json] [--map https://www.example.com=http://127.0.0.1:8080] [OPTION...]

BASE            origin of the site, such as http://127.0.0.1:8080
--map A=B       fetch addresses of origin A, as robots.txt and <loc> have them, from origin B with "Host: A"; repeatable. The
                site's own origin is then A
--expected F    JSON: ["url", ...], or [{"loc":..., "lastmod":..., "images":[...], "alternates":{lang:url}}], or {"urls":[...]}
--index P       path of the index [/sitemap_index.xml]
--xsd DIR       folder of the official schemas, with all.xsd, which imports them all [none: file.xsd is NOT DONE]
--skip a,b      leave out checks whose ids begin so; --only a,b keeps just those; --list prints the ids
--nested ok     allow an index inside an index
--empty ok      allow a sitemap or an index without entries, which the schemas forbid
--profile plain demand no redirects, no X-Robots-Tag and no names of sitemaps
--max-probes N  probe the headers of at most N documents: the index, the first ones and the last [12]
--json F        write a report for programs
-v              print each failure, not the first three of a check

Needs lxml, and fetches nothing beyond BASE. Prints a table of checks, each ok, FAIL or NOT DONE. Exit status: 1 if a check
failed, 2 for wrong usage."""

import argparse
import datetime as dt
import email.utils
import http.client
import json
import os
import re
import sys
import urllib.parse as up
import zlib

from lxml import etree

import documents
from documents import IMAGE as IMG, NEWS, SITEMAP as SM, VIDEO as VID, XHTML as XH, moment as when

MAXB, MAXU = 52_428_800, 50_000
NAME = re.compile(r"^(?P<t>[A-Za-z0-9_%.-]*?[A-Za-z_%.-])-sitemap(?P<n>\d*)\.xml(?P<gz>\.gz)?$")

LINE = "%-20s %-8s %s"
IDS = {
    "robots.status": "GET /robots.txt is 200 text/plain",
    "robots.sitemap": "robots.txt has absolute, same-host Sitemap: lines, no BOM / inline comment (USP and Scrapy lose those)",
    "llms.form": "an llms.txt is UTF-8 text of at most 100,000 bytes: a title, then links to pages that a sitemap lists",
    "index.reachable": "the index answers 200 and is a <sitemapindex>",
    "index.in_robots": "robots.txt names the index",
    "index.nested": "no index inside an index",
    "index.lastmod": "index <lastmod> = max of the shard lastmods",
    "index.dup": "no sitemap listed twice",
    "index.naming": "{type}-sitemap{n}.xml, first page bare, the others numbered from 2, none twice (an emptied page may leave a gap)",
    "file.status": "every listed sitemap answers 200",
    "file.ctype": "Content-Type fits the form (xml, or gzip without Content-Encoding for .xml.gz)",
    "file.gzip": "exactly one gzip layer, whole stream, no trailing bytes",
    "file.length": "Content-Length = bytes sent",
    "file.wellformed": "well-formed UTF-8 XML, no DTD, no BOM, nothing before the declaration",
    "file.xsd": "valid against the official schemas (copies in --xsd DIR)",
    "file.limits": "1..50,000 entries and <= 52,428,800 bytes uncompressed",
    **documents.CHECKS,
    "loc.host": "every <loc> is on the sitemap's own scheme+host and below its directory",
    "loc.form": "loc is absolute, ASCII, correctly percent-encoded, < 2048 chars, no fragment / white space",
    "loc.escape": "<loc> text is plain with only &amp; &lt; &gt; &quot; &apos; (no CDATA, no numeric references, no padding)",
    "loc.dup": "no loc twice, in a file or across files",
    "lastmod.w3c": "lastmod is W3C datetime (date, or date-time with seconds and zone)",
    "lastmod.future": "no lastmod later than now + 24 h",
    "ext.image": "<= 1,000 images a URL, absolute image:loc",
    "ext.news": "news: <= 1,000 URLs a file, publication date within 48 h",
    "ext.hreflang": "hreflang sets name themselves and are reciprocal",
    "ext.foreign": "only known namespaces; no <script>/element outside <url> (USP and advertools drop such files)",
    "hdr.robots_tag": "X-Robots-Tag: noindex, follow",
    "hdr.validators": "ETag and Last-Modified present and well formed",
    "hdr.cache": "Cache-Control present",
    "hdr.304": "conditional GET: 304 without body, ETag and Cache-Control kept, INM wins over IMS, 200 on mismatch",
    "hdr.head": "HEAD has the GET headers and no body",
    "hdr.identity": "identity and gzip negotiation: same document, Vary: Accept-Encoding, no gzip for a client that refuses it",
    "hdr.etag_variants": "gzip and identity do not share one strong ETag",
    "hdr.crawler_accept": "crawlers get XML whatever their Accept says (text/html without Sec-Fetch-* included)",
    "hdr.browser_view": "a browser navigation gets HTML, or XML with a CSS/XSL stylesheet; Vary set when it differs",
    "hdr.nosniff": "X-Content-Type-Options: nosniff",
    "route.sitemap_xml": "/sitemap.xml is 301 to the index",
    "route.page01": "{type}-sitemap1.xml and {type}-sitemap0.xml are 301 to {type}-sitemap.xml",
    "route.404": "unknown types, pages past the end, 00/01 spellings are 404",
    "route.405": "POST, PUT, DELETE are 405 with Allow (403 as CloudFront does is let through)",
    "route.query": "a query string does not change the document",
    "set.missing": "every expected URL is listed",
    "set.extra": "nothing else is listed",
    "set.lastmod": "lastmods as expected",
    "set.images": "images as expected",
    "set.alternates": "alternates as expected",
}


class Resp:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def h(self, n, d=""):
        v = [x for k, x in self.headers if k.lower() == n.lower()]
        return ", ".join(v) if v else d


class Checker:
    def __init__(self, a):
        self.a, self.rows, self.maps = a, {}, {}
        for m in a.map or []:
            f, t = m.split("=", 1)
            self.maps[f.rstrip("/")] = t.rstrip("/")
        self.base = a.base.rstrip("/")
        self.public = next((f for f, t in self.maps.items() if t == self.base), self.base)
        self.schema = a.xsd and etree.XMLSchema(etree.parse(os.path.join(a.xsd, "all.xsd")))
        self.files, self.entries, self.now = {}, [], dt.datetime.now(dt.timezone.utc)

    # -- bookkeeping
    def on(self, cid):
        if self.a.only and not any(cid.startswith(p) for p in self.a.only):
            return False
        if any(cid.startswith(p) for p in self.a.skip):
            return False
        if self.a.profile == "plain" and (
            cid.startswith("route.sitemap_xml")
            or cid.startswith("route.page01")
            or cid in ("hdr.robots_tag", "index.naming")
        ):
            return False
        return True

    def rec(self, cid, ok, detail="", res=""):
        assert cid in IDS, cid
        if not self.on(cid):
            return ok
        r = self.rows.setdefault(cid, [0, []])
        r[0] += 1
        if not ok:
            r[1].append((res, detail))
        return ok

    # -- http
    def target(self, url):
        o = "{0.scheme}://{0.netloc}".format(up.urlsplit(url))
        return (self.maps[o] + url[len(o) :], up.urlsplit(o).netloc) if o in self.maps else (url, None)

    def fetch(self, url, method="GET", **hdr):
        url, host = self.target(url)
        p = up.urlsplit(url)
        C = http.client.HTTPSConnection if p.scheme == "https" else http.client.HTTPConnection
        c = C(p.hostname, p.port, timeout=self.a.timeout)
        try:
            path = (p.path or "/") + ("?" + p.query if p.query else "")
            c.putrequest(method, path, skip_host=host is not None, skip_accept_encoding=True)
            if host:
                c.putheader("Host", host)
            H = {"User-Agent": "sitemap-check/1"}
            H.update({k.replace("_", "-"): v for k, v in hdr.items() if v is not None})
            if method in ("POST", "PUT"):
                H["Content-Length"] = "0"
            for k, v in H.items():
                c.putheader(k, v)
            c.endheaders()
            r = c.getresponse()
            try:
                body = r.read()
            except http.client.IncompleteRead as e:
                body = e.partial
                return Resp(r.status, r.getheaders() + [("x-incomplete", "1")], body)
            return Resp(r.status, r.getheaders(), body)
        except (OSError, http.client.HTTPException) as e:
            return Resp(0, [], repr(e).encode())
        finally:
            c.close()

    @staticmethod
    def gunzip(b):
        """one layer, multi-member allowed -> (data, error)"""
        out, n = [], 0
        while b:
            d = zlib.decompressobj(31)
            try:
                x = d.decompress(b, 2 * MAXB)
            except zlib.error as e:
                return b"".join(out), ("trailing bytes after the gzip stream" if out else "not gzip: %s" % e)
            out.append(x)
            n += len(x)
            if not d.eof:
                return b"".join(out), ("too large" if d.unconsumed_tail else "gzip stream is cut off")
            b = d.unused_data
        return b"".join(out), None

    def decode(self, r, url):
        """-> (xml bytes, problem, how): Content-Encoding first, then the .gz extension"""
        b, how = r.body, "plain"
        ce = r.h("Content-Encoding").strip().lower()
        if ce in ("gzip", "x-gzip"):
            b, e = self.gunzip(b)
            how = "content-encoding"
            if e:
                return b, "Content-Encoding: gzip but " + e, how
        elif ce and ce != "identity":
            return b, "Content-Encoding %s was not asked for" % ce, how
        if b[:2] == b"\x1f\x8b":
            if how != "plain":
                return gzip_quiet(b), "gzip twice (Content-Encoding over an already gzipped body)", how
            if not up.urlsplit(url).path.lower().endswith(".gz"):
                return gzip_quiet(b), "gzip body under a plain name without Content-Encoding", how
            b, e = self.gunzip(b)
            how = "extension"
            if e:
                return b, e, how
            if b[:2] == b"\x1f\x8b":
                return gzip_quiet(b), "gzip twice", how
        return b, None, how

    # -- parsing
    def load(self, url, kind):
        """fetch + decode + validate one file -> dict or None"""
        name = up.urlsplit(url).path
        r = self.fetch(url, Accept_Encoding="gzip", Accept="*/*")
        if not self.rec(
            "file.status" if kind != "root" else "index.reachable",
            r.status == 200,
            "%s %s" % (r.status, r.body[:60] if not r.status else ""),
            name,
        ):
            return None
        cl = r.h("Content-Length")
        self.rec(
            "file.length",
            not r.h("x-incomplete") and (cl == "" or int(cl) == len(r.body)),
            "Content-Length %s, got %d" % (cl, len(r.body)),
            name,
        )
        b, prob, how = self.decode(r, url)
        self.rec("file.gzip", prob is None, prob or "", name)
        ct = r.h("Content-Type").lower()
        mt = ct.split(";")[0].strip()
        cs = re.search(r'charset="?([\w-]+)', ct)
        want = ("application/gzip", "application/x-gzip") if how == "extension" else ("application/xml", "text/xml")
        self.rec(
            "file.ctype",
            mt in want and (not cs or cs.group(1) == "utf-8"),
            "%r (%s), want %s" % (ct, how, " or ".join(want)),
            name,
        )
        self.rec("file.limits", 0 < len(b) <= MAXB, "%d bytes" % len(b), name)
        bad = []
        if b[:3] == b"\xef\xbb\xbf":
            bad.append("BOM")
        if b[:1].isspace():
            bad.append("white space before the declaration")
        if b"<!DOCTYPE" in b[:4096]:
            bad.append("DOCTYPE")
        m = re.match(rb'\s*<\?xml[^>]*encoding=["\']([\w-]+)', b)
        if m and m.group(1).lower() != b"utf-8":
            bad.append("encoding " + m.group(1).decode())
        try:
            b.decode("utf-8")
        except UnicodeDecodeError as e:
            bad.append("not UTF-8 at byte %d" % e.start)
        try:
            t = etree.fromstring(b, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True))
        except (etree.XMLSyntaxError, ValueError) as e:
            self.rec("file.wellformed", False, "; ".join(bad + [str(e)[:120]]), name)
            return None
        self.rec("file.wellformed", not bad, "; ".join(bad), name)
        if self.schema:
            ok = self.schema.validate(t) or (self.a.empty == "ok" and not len(t))
            error = "" if ok else "line %d: %s" % (self.schema.error_log[0].line, short(self.schema.error_log[0].message))
            self.rec("file.xsd", ok, error, name)
        wrong = {check: [] for check in documents.CHECKS}
        for problem in documents.problems(t):
            wrong[problem.check].append("line %d: %s" % (problem.line, problem.text))
        for check, found in wrong.items():
            self.rec(check, not found, "; ".join(found[:3]), name)
        q = etree.QName(t)
        if q.namespace != SM:
            self.rec("ext.foreign", False, "root element is {%s}%s" % (q.namespace, q.localname), name)
        foreign = [c for c in t if isinstance(c.tag, str) and etree.QName(c).namespace != SM]
        self.rec("ext.foreign", not foreign, "element %s outside <url>" % (foreign and foreign[0].tag), name)
        return {"url": url, "name": name, "tree": t, "kind": q.localname, "bytes": b, "resp": r, "how": how}

    def run(self):
        self.robots()
        root = self.index()
        if root is not None:
            self.shards(root)
            self.locs()
            self.headers()
            self.llms()
        self.routes()
        self.compare()

    def robots(self):
        r = self.fetch(self.public + "/robots.txt", Accept_Encoding="identity")
        self.rec(
            "robots.status",
            r.status == 200 and r.h("Content-Type").lower().startswith("text/plain"),
            "%d %s" % (r.status, r.h("Content-Type")),
            "/robots.txt",
        )
        txt = r.body.decode("utf-8", "replace") if r.status == 200 else ""
        bad = ["BOM"] if txt.startswith("\ufeff") else []
        self.sitemap_lines = []
        for l in txt.lstrip("\ufeff").splitlines():
            m = re.match(r"\s*sitemap\s*:\s*(\S*)(.*)$", l, re.I)
            if not m:
                continue
            if m.group(2).strip():
                bad.append("text after the URL: %r" % l.strip()[:80])
            if not re.match(r"https?://", m.group(1)):
                bad.append("not absolute: %r" % m.group(1))
                continue
            if origin(m.group(1)) != self.public:
                bad.append("other host: %r" % m.group(1))
            self.sitemap_lines.append(m.group(1))
        if not self.sitemap_lines:
            bad.append("no Sitemap: line")
        self.rec("robots.sitemap", not bad, "; ".join(bad[:3]), "/robots.txt")

    def llms(self):
        """Nothing is said of a site that has none."""
        r = self.fetch(self.public + "/llms.txt", Accept_Encoding="identity")
        if r.status == 404:
            return
        bad = [] if r.status == 200 else ["status %d" % r.status]
        if not r.h("Content-Type").lower().startswith("text/"):
            bad.append("Content-Type %s" % r.h("Content-Type"))
        if len(r.body) > 100_000:
            bad.append("%d bytes" % len(r.body))
        title, *lines = r.body.decode("utf-8", "replace").split("\n")
        if "\ufffd" in r.body.decode("utf-8", "replace") or not re.match(r"# \S", title):
            bad.append("begins with %r" % title[:80])
        # In a link's target these end the link, so they are percent-encoded there.
        listed = {re.sub(r"[()\[\]<>\\]", lambda m: "%%%02X" % ord(m.group()), e["loc"]) for e in self.entries}
        for l in lines:
            link = re.match(r"- \[[^\[\]]+\]\(([^()\s]+)\)(: .+)?$", l)
            if link and link.group(1).replace("&amp;", "&") not in listed:
                bad.append("%s is in no sitemap" % link.group(1))
            if not link and l and not re.match(r"(> |## )\S", l):
                bad.append("a line that is no link: %r" % l[:80])
        self.rec("llms.form", not bad, "; ".join(bad[:3]), "/llms.txt")

    def index(self):
        want = self.public + self.a.index
        self.rec("index.in_robots", want in self.sitemap_lines, "robots names %s" % self.sitemap_lines[:3], self.a.index)
        d = self.load(want, "root")
        if d and d["kind"] != "sitemapindex":
            self.rec("index.reachable", False, "root element <%s>" % d["kind"], d["name"])
        return d

    def shards(self, root):
        self.files[root["url"]] = root
        self.shard_list = []
        self.types = {}
        todo = [(root, 0)]
        seen = {root["url"]}
        if root["kind"] == "urlset":
            self.shard_list.append(root)
        for u in self.sitemap_lines:
            if u not in seen:
                seen.add(u)
                d = self.load(u, "shard")
                if d:
                    self.files[u] = d
                    (todo.append((d, 0)) if d["kind"] == "sitemapindex" else self.shard_list.append(d))
        while todo:
            idx, depth = todo.pop(0)
            if idx["kind"] != "sitemapindex":
                continue
            es = idx["tree"].findall("{%s}sitemap" % SM)
            idx["children"] = []
            self.rec("file.limits", (self.a.empty != "ok") <= len(es) <= MAXU, "%d sitemaps" % len(es), idx["name"])
            locs = [text(e, "loc") for e in es]
            dup = sorted({l for l in locs if locs.count(l) > 1}) if len(locs) < 5000 else []
            self.rec("index.dup", not dup, "twice: %s" % dup[:2], idx["name"])
            for e in es:
                l = text(e, "loc")
                self.check_loc(e, idx)
                self.check_lastmod(e, idx)
                if not l or l in seen:
                    continue
                seen.add(l)
                m = NAME.match(l.rsplit("/", 1)[-1])
                if m and origin(l) == self.public:
                    self.types.setdefault((l.rsplit("/", 1)[0] + "/" + m["t"], m["gz"] or ""), []).append(m["n"])
                d = self.load(l, "shard")
                if not d:
                    continue
                self.files[l] = d
                idx["children"].append((e, d))
                if d["kind"] == "sitemapindex":
                    self.rec("index.nested", self.a.nested == "ok", "is itself an index", d["name"])
                    if depth < 3:
                        todo.append((d, depth + 1))
                elif d["kind"] == "urlset":
                    self.shard_list.append(d)
                else:
                    self.rec("file.wellformed", False, "root element <%s>" % d["kind"], d["name"])
                if not m and d["kind"] == "urlset":
                    self.rec("index.naming", False, "not {type}-sitemap{n}.xml", d["name"])
            if self.a.nested != "ok" and not any(d["kind"] == "sitemapindex" for _, d in idx["children"]):
                self.rec("index.nested", True)
        for (t, gz), ns in self.types.items():
            ok = len(set(ns)) == len(ns) and all(x == "" or (int(x) >= 2 and x == str(int(x))) for x in ns)
            self.rec("index.naming", ok, "pages %s" % ns[:6], t)

    def locs(self):
        for d in self.shard_list:
            us = d["tree"].findall("{%s}url" % SM)
            self.rec("file.limits", (self.a.empty != "ok") <= len(us) <= MAXU, "%d URLs" % len(us), d["name"])
            best = None
            nnews = 0
            for u in us:
                l = self.check_loc(u, d)
                lm = self.check_lastmod(u, d)
                if lm and (best is None or lm > best):
                    best = lm
                imgs = [text(i, "loc", IMG) for i in u.findall("{%s}image" % IMG)]
                if imgs:
                    self.rec(
                        "ext.image",
                        len(imgs) <= 1000
                        and all(re.match(r"https?://[^/\s]+/\S*$|https?://[^/\s]+$", i or "") for i in imgs),
                        "%d images; %s" % (len(imgs), [i for i in imgs if not re.match(r"https?://", i or "")][:1]),
                        l,
                    )
                for n in u.findall("{%s}news" % NEWS):
                    nnews += 1
                    pd = n.findtext("{%s}publication_date" % NEWS) or ""
                    w = when(pd.strip())
                    self.rec(
                        "ext.news", w is not None and self.now - w <= dt.timedelta(hours=49), "publication_date %s" % pd, l
                    )
                alts = [
                    (x.get("hreflang"), x.get("href")) for x in u.findall("{%s}link" % XH) if x.get("rel") == "alternate"
                ]
                self.entries.append(
                    {"loc": l, "lastmod": text(u, "lastmod"), "images": imgs, "alternates": alts, "file": d["name"]}
                )
            if nnews:
                self.rec("ext.news", nnews <= 1000, "%d news URLs" % nnews, d["name"])
            d["best"] = best
        for idx in self.files.values():
            for e, d in idx.get("children", []):
                if d["kind"] == "sitemapindex":
                    continue
                il = text(e, "lastmod")
                w = when(il) if il else None
                if d.get("best") is None:
                    self.rec(
                        "index.lastmod", il is None or w is not None, "shard has no lastmod, index says %s" % il, d["name"]
                    )
                else:
                    self.rec(
                        "index.lastmod",
                        w == d["best"],
                        "index %s, newest in the shard %s" % (il, d["best"].isoformat()),
                        d["name"],
                    )
        seen = {}
        for e in self.entries:
            if e["loc"] in seen:
                self.rec("loc.dup", False, "in %s and %s" % (seen[e["loc"]], e["file"]), e["loc"])
            else:
                seen[e["loc"]] = e["file"]
        self.rec("loc.dup", True)
        by = {e["loc"]: e for e in self.entries}
        for e in self.entries:
            if not e["alternates"]:
                continue
            hs = {h for _, h in e["alternates"]}
            bad = []
            if e["loc"] not in hs:
                bad.append("does not name itself")
            if len({k for k, _ in e["alternates"]}) != len(e["alternates"]):
                bad.append("a language twice")
            for _, h in e["alternates"]:
                if h in by and e["loc"] not in {x for _, x in by[h]["alternates"]}:
                    bad.append("no return link from %s" % h)
            self.rec("ext.hreflang", not bad, "; ".join(bad[:2]), e["loc"])

    def check_loc(self, el, d):
        n = el.find("{%s}loc" % SM)
        raw = (n.text or "") if n is not None else ""
        l = raw.strip()
        bad = []
        p = None
        try:
            p = up.urlsplit(l)
            p.port
        except ValueError as e:
            bad.append(str(e))
        if not p or p.scheme not in ("http", "https") or not p.netloc:
            bad.append("not absolute")
        if len(l) >= 2048:
            bad.append("%d characters" % len(l))
        if not l.isascii():
            bad.append("non-ASCII characters")
        if re.search(r"%(?![0-9A-Fa-f]{2})", l):
            bad.append("bad percent-encoding")
        if re.search(r'[\s<>"{}|\\^`]', l):
            bad.append("character to be percent-encoded")
        if p and p.fragment:
            bad.append("fragment")
        if p and p.netloc != p.netloc.lower():
            bad.append("upper-case host")
        self.rec("loc.form", not bad, "; ".join(bad), l[:120] or d["name"])
        if p and p.netloc:
            o = "%s://%s" % (p.scheme, p.netloc)
            dirn = d["name"].rsplit("/", 1)[0] + "/"
            self.rec(
                "loc.host", o == origin(d["url"]) and (p.path or "/").startswith(dirn), "listed in %s" % d["url"], l[:120]
            )
        esc = []
        if raw != l:
            esc.append("white space around the URL")
        if n is not None and len(n):
            esc.append("child nodes in <loc>")
        if "raw_esc" not in d:
            d["raw_esc"] = sorted(
                set(re.findall(rb"<(?:\w+:)?loc[^>]*>[^<]*?(&#\w+;)|<(?:\w+:)?loc[^>]*>\s*(<!\[CDATA\[)", d["bytes"]))
            )
            if d["raw_esc"]:
                esc.append("uses %s" % b" ".join(a or b for a, b in d["raw_esc"][:3]).decode())
        self.rec("loc.escape", not esc, "; ".join(esc), l[:120])
        return l

    def check_lastmod(self, el, d):
        l = text(el, "lastmod", strip=False)
        if l is None:
            return None
        w = when(l)
        self.rec("lastmod.w3c", w is not None, repr(l), text(el, "loc") or d["name"])
        if w:
            self.rec("lastmod.future", w <= self.now + dt.timedelta(hours=24), l, text(el, "loc") or d["name"])
        return w

    def headers(self):
        L = list(self.files.values())
        N = self.a.max_probes
        L = L if len(L) <= N else L[: N - 1] + L[-1:]
        for d in L:
            u, name = d["url"], d["name"]
            r = self.fetch(u, Accept_Encoding="identity")
            g = self.fetch(u, Accept_Encoding="gzip")
            self.plain_headers(name, r)
            self.conditional(u, name, r, g)
            self.head(u, name, r, g)
            identity = self.negotiation(d, r, g)
            self.views(u, name, r, g)
            x = self.fetch(u + "?v=1", Accept_Encoding="identity")
            b1, _, _ = self.decode(x, u)
            self.rec("route.query", x.status == 200 and b1 == identity, "?v=1 -> %d" % x.status, name)

    def plain_headers(self, name, r):
        tag = {x.strip().lower() for x in r.h("X-Robots-Tag").split(",")}
        self.rec("hdr.robots_tag", tag == {"noindex", "follow"}, repr(r.h("X-Robots-Tag")), name)
        et, lm = r.h("ETag"), r.h("Last-Modified")
        bad = []
        if not re.match(r'^(W/)?"[\x21\x23-\x7e\x80-\xff]*"$', et):
            bad.append("ETag %r" % et)
        try:
            lmd = email.utils.parsedate_to_datetime(lm) if lm.endswith("GMT") else None
        except (TypeError, ValueError):
            lmd = None
        if lmd is None:
            bad.append("Last-Modified %r" % lm)
        elif lmd > self.now + dt.timedelta(minutes=5):
            bad.append("Last-Modified in the future")
        self.rec("hdr.validators", not bad, "; ".join(bad), name)
        self.rec(
            "hdr.cache",
            bool(re.search(r"(max-age|s-maxage)=\d+|no-cache|no-store", r.h("Cache-Control"))),
            repr(r.h("Cache-Control")),
            name,
        )
        self.rec(
            "hdr.nosniff", r.h("X-Content-Type-Options").lower() == "nosniff", repr(r.h("X-Content-Type-Options")), name
        )

    def conditional(self, u, name, r, g):
        et, lm = r.h("ETag"), r.h("Last-Modified")
        bad = []
        for label, first, enc in (("identity", r, "identity"), ("gzip", g, "gzip")):
            e1 = first.h("ETag")
            if e1:
                for v in (e1, '"nope", ' + e1, e1 if e1.startswith("W/") else "W/" + e1, "*"):
                    c = self.fetch(u, Accept_Encoding=enc, If_None_Match=v)
                    if c.status != 304:
                        bad.append("If-None-Match %s -> %d (%s)" % (v, c.status, label))
                    elif c.body or c.h("Content-Length", "0") not in ("0", first.h("Content-Length")):
                        bad.append("304 with a body")
                    elif strip_w(c.h("ETag")) != strip_w(e1):
                        bad.append("304 ETag %r, 200 had %r" % (c.h("ETag"), e1))
                    elif first.h("Cache-Control") and c.h("Cache-Control") != first.h("Cache-Control"):
                        bad.append("304 without the Cache-Control")
                c = self.fetch(u, Accept_Encoding=enc, If_None_Match='"nope"')
                if c.status != 200:
                    bad.append("mismatching If-None-Match -> %d" % c.status)
                if first.h("Last-Modified"):
                    c = self.fetch(
                        u, Accept_Encoding=enc, If_None_Match='"nope"', If_Modified_Since=first.h("Last-Modified")
                    )
                    if c.status != 200:
                        bad.append("If-Modified-Since wins over If-None-Match (%d)" % c.status)
            if first.h("Last-Modified"):
                c = self.fetch(u, Accept_Encoding=enc, If_Modified_Since=first.h("Last-Modified"))
                if c.status != 304:
                    bad.append("If-Modified-Since same date -> %d" % c.status)
                c = self.fetch(u, Accept_Encoding=enc, If_Modified_Since="Thu, 01 Jan 1970 00:00:00 GMT")
                if c.status != 200:
                    bad.append("If-Modified-Since 1970 -> %d" % c.status)
        if not et and not lm:
            bad.append("nothing to revalidate with")
        self.rec("hdr.304", not bad, "; ".join(bad[:3]), name)

    def head(self, u, name, r, g):
        bad = []
        for enc, full in (("identity", r), ("gzip", g)):
            h = self.fetch(u, "HEAD", Accept_Encoding=enc)
            if h.status != full.status:
                bad.append("HEAD %d, GET %d" % (h.status, full.status))
            for k in (
                "Content-Type",
                "Content-Encoding",
                "Content-Length",
                "ETag",
                "Last-Modified",
                "Cache-Control",
                "X-Robots-Tag",
                "Vary",
            ):
                if k == "Content-Length" and not h.h(k):
                    continue
                if h.h(k) != full.h(k):
                    bad.append("%s: HEAD %r GET %r (%s)" % (k, h.h(k), full.h(k), enc))
            if h.body:
                bad.append("HEAD has a body")
        self.rec("hdr.head", not bad, "; ".join(bad[:3]), name)

    def negotiation(self, d, r, g):
        """-> the document as it is sent unencoded"""
        u, name = d["url"], d["name"]
        none = self.fetch(u)
        q0 = self.fetch(u, Accept_Encoding="gzip;q=0, identity")
        bad = []
        docs = {}
        for label, x in (("identity", r), ("gzip", g), ("no Accept-Encoding", none), ("gzip;q=0", q0)):
            if x.status != 200:
                bad.append("%s -> %d" % (label, x.status))
                continue
            b, prob, how = self.decode(x, u)
            docs[label] = b
            if prob:
                bad.append("%s: %s" % (label, prob))
            if label in ("identity", "gzip;q=0", "no Accept-Encoding") and x.h("Content-Encoding").lower() not in (
                "",
                "identity",
            ):
                bad.append("Content-Encoding %s for %s" % (x.h("Content-Encoding"), label))
        if len(set(docs.values())) > 1:
            bad.append("the documents differ between encodings")
        if d["how"] == "content-encoding" or g.h("Content-Encoding"):
            if (
                r.h("Content-Encoding") != g.h("Content-Encoding")
                and "accept-encoding" not in (g.h("Vary") + r.h("Vary")).lower()
            ):
                bad.append("no Vary: Accept-Encoding")
            a, b2 = r.h("ETag"), g.h("ETag")
            self.rec(
                "hdr.etag_variants",
                not a or r.h("Content-Encoding") == g.h("Content-Encoding") or a != b2 or a.startswith("W/"),
                "both %s" % a,
                name,
            )
        self.rec("hdr.identity", not bad, "; ".join(bad[:3]), name)
        return docs.get("identity")

    def views(self, u, name, r, g):
        """what crawlers and browsers get, whatever they accept"""
        bad = []
        for ua, acc in (
            (
                "Googlebot-like",
                "text/html,application/xhtml+xml,application/signed-exchange;v=b3,application/xml;q=0.9,*/*;q=0.8",
            ),
            ("Scrapy-like", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
            ("any", "*/*"),
            ("none", None),
            ("text/html only", "text/html"),
        ):
            x = self.fetch(u, Accept=acc, Accept_Encoding="identity")
            if x.status != 200 or b"<urlset" not in x.body and b"<sitemapindex" not in x.body and x.body[:2] != b"\x1f\x8b":
                bad.append("%s Accept -> %d %s" % (ua, x.status, x.h("Content-Type")))
        self.rec("hdr.crawler_accept", not bad, "; ".join(bad[:3]), name)
        x = self.fetch(
            u,
            Accept="text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
            Accept_Encoding="gzip",
            Sec_Fetch_Dest="document",
            Sec_Fetch_Mode="navigate",
            Sec_Fetch_Site="none",
            Upgrade_Insecure_Requests="1",
        )
        b, _, _ = self.decode(x, u)
        ct = x.h("Content-Type").split(";")[0].lower()
        bad = []
        if x.status != 200:
            bad.append("%d" % x.status)
        elif ct == "text/html":
            if not re.search(r"sec-fetch-dest|accept(?!-encoding)", x.h("Vary").lower()) or not re.search(
                r"sec-fetch-dest|accept(?!-encoding)", r.h("Vary").lower()
            ):
                bad.append("HTML for browsers but no Vary: Sec-Fetch-Dest on both forms")
            if x.h("ETag") and x.h("ETag") in (g.h("ETag"), r.h("ETag")):
                bad.append("HTML and XML share ETag %s" % x.h("ETag"))
            if b"<table" not in b and b"<script" not in b and b"<li" not in b:
                bad.append("HTML without a table, list or script")
        elif not re.search(rb"<\?xml-stylesheet[^?]*(text/css|text/xsl|application/xslt?\+xml)", b[:2048]):
            bad.append("bare XML (%s): no HTML view, no stylesheet" % ct)
        else:
            href = re.search(rb'<\?xml-stylesheet[^?]*href=["\']([^"\']+)', b[:2048])
            if href:
                y = self.fetch(up.urljoin(u, href.group(1).decode()))
                if y.status != 200 or not re.match(
                    r"text/css|text/xsl|application/xslt?\+xml|text/xml|application/xml", y.h("Content-Type")
                ):
                    bad.append("stylesheet %s -> %d %s" % (href.group(1).decode(), y.status, y.h("Content-Type")))
        self.rec("hdr.browser_view", not bad, "; ".join(bad), name)

    def routes(self):
        idx = self.public + self.a.index
        r = self.fetch(self.public + "/sitemap.xml")
        loc = up.urljoin(self.public + "/sitemap.xml", r.h("Location")) if r.h("Location") else ""
        self.rec(
            "route.sitemap_xml", r.status == 301 and loc == idx, "%d -> %s" % (r.status, r.h("Location")), "/sitemap.xml"
        )
        for (t, gz), ns in list(getattr(self, "types", {}).items())[:20]:
            for n in ("0", "1"):
                u = "%s-sitemap%s.xml%s" % (t, n, gz)
                want = "%s-sitemap.xml%s" % (t, gz)
                for m in ("GET", "HEAD"):
                    r = self.fetch(u, m)
                    loc = up.urljoin(u, r.h("Location")) if r.h("Location") else ""
                    self.rec(
                        "route.page01",
                        r.status == 301 and loc == want,
                        "%s %d -> %s" % (m, r.status, r.h("Location")),
                        up.urlsplit(u).path,
                    )
            last = max(int(x or 1) for x in ns)
            for u in (
                "%s-sitemap%d.xml%s" % (t, last + 1, gz),
                "%s-sitemap00.xml%s" % (t, gz),
                "%s-sitemap02.xml%s" % (t, gz),
                "%s-sitemap-1.xml%s" % (t, gz),
                "%s-sitemap99999999999999999999.xml%s" % (t, gz),
                "%s-sitemapx.xml%s" % (t, gz),
            ):
                r = self.fetch(u)
                self.rec("route.404", r.status == 404, "%d %s" % (r.status, r.h("Location")), up.urlsplit(u).path)
        for p in (
            "/no-such-type-sitemap.xml",
            "/no-such-type-sitemap2.xml",
            "/-sitemap.xml",
            "/..%2f..%2fetc-sitemap.xml",
            self.a.index + "/x",
        ):
            r = self.fetch(self.public + p)
            self.rec("route.404", r.status in (404, 400) if "%2f" in p else r.status == 404, "%d" % r.status, p)
        for m in ("POST", "PUT", "DELETE"):
            r = self.fetch(idx, m)
            al = {x.strip() for x in r.h("Allow").upper().split(",")}
            self.rec(
                "route.405",
                r.status == 403 or (r.status == 405 and {"GET", "HEAD"} <= al),
                "%d Allow: %r" % (r.status, r.h("Allow")),
                m,
            )

    def compare(self):
        if not self.a.expected:
            return
        with open(self.a.expected, encoding="utf-8") as f:
            e = json.load(f)
        e = e["urls"] if isinstance(e, dict) else e
        E = {(x if isinstance(x, str) else x["loc"]): ({} if isinstance(x, str) else x) for x in e}
        G = {x["loc"]: x for x in self.entries}
        miss = [u for u in E if u not in G]
        extra = [u for u in G if u not in E]
        self.rec("set.missing", not miss, "%d of %d missing: %s" % (len(miss), len(E), miss[:3]))
        self.rec("set.extra", not extra, "%d too many: %s" % (len(extra), extra[:3]))
        for u, x in E.items():
            if u not in G:
                continue
            if "lastmod" in x:
                w, g = x["lastmod"], G[u]["lastmod"]
                self.rec(
                    "set.lastmod",
                    (w or None) == (g or None) or (w and g and when(w) is not None and when(w) == when(g)),
                    "want %s, got %s" % (w, g),
                    u,
                )
            if "images" in x:
                self.rec(
                    "set.images",
                    sorted(x["images"]) == sorted(G[u]["images"]),
                    "want %s, got %s" % (x["images"], G[u]["images"]),
                    u,
                )
            if "alternates" in x:
                self.rec(
                    "set.alternates",
                    sorted(x["alternates"].items()) == sorted(G[u]["alternates"]),
                    "want %s, got %s" % (x["alternates"], G[u]["alternates"]),
                    u,
                )

    def report(self):
        np = nf = 0
        out, left = [], []
        for cid in IDS:
            if cid == "file.xsd" and not self.schema and self.on(cid):
                left.append(cid)
                print(LINE % (cid, "NOT DONE", "no official schemas were given with --xsd; the rule.* checks are ours"))
                out.append({"check": cid, "ok": None, "n": 0, "failures": []})
            if cid not in self.rows:
                continue
            n, bad = self.rows[cid]
            ok = not bad
            np += ok
            nf += not ok
            det = (
                IDS[cid] + (" [%d]" % n if n > 1 else "")
                if ok
                else "%d of %d: " % (len(bad), n)
                + " | ".join(("%s: " % r if r else "") + d for r, d in (bad if self.a.verbose else bad[:3]))
                + (" ..." if len(bad) > 3 and not self.a.verbose else "")
            )
            print(LINE % (cid, "ok" if ok else "FAIL", det))
            out.append({"check": cid, "ok": ok, "n": n, "failures": bad})
        print("%d files, %d URLs" % (len(self.files), len(self.entries)))
        if self.a.json:
            with open(self.a.json, "w") as f:
                json.dump(out, f, indent=1)
        print("%d passed, %d failed" % (np, nf) + (", not done: %s" % ", ".join(left) if left else ""))
        return 1 if nf or not np else 0


def gzip_quiet(b):
    for _ in range(3):
        if b[:2] != b"\x1f\x8b":
            break
        b = Checker.gunzip(b)[0]
    return b


def origin(u):
    p = up.urlsplit(u)
    return "%s://%s" % (p.scheme, p.netloc)


def short(m):
    return (
        m.replace("{%s}" % SM, "")
        .replace("{%s}" % IMG, "image:")
        .replace("{%s}" % VID, "video:")
        .replace("{%s}" % NEWS, "news:")
        .replace("{%s}" % XH, "xhtml:")[:220]
    )


def strip_w(e):
    return e[2:] if e.startswith("W/") else e


def text(el, tag, ns=SM, strip=True):
    n = el.find("{%s}%s" % (ns, tag))
    if n is None:
        return None
    t = n.text or ""
    return t.strip() if strip else t


def main(argv=None):
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("base", nargs="?")
    ap.add_argument("--expected")
    ap.add_argument("--map", action="append")
    ap.add_argument("--index", default="/sitemap_index.xml")
    ap.add_argument("--xsd")
    ap.add_argument("--skip", default="", type=lambda v: [x for x in v.split(",") if x])
    ap.add_argument("--only", default="", type=lambda v: [x for x in v.split(",") if x])
    ap.add_argument("--nested", choices=["ok", "no"], default="no")
    ap.add_argument("--empty", choices=["ok", "no"], default="no")
    ap.add_argument("--profile", choices=["yoast", "plain"], default="yoast")
    ap.add_argument("--max-probes", type=int, default=12)
    ap.add_argument("--timeout", type=float, default=20)
    ap.add_argument("--json")
    ap.add_argument("-v", "--verbose", action="store_true")
    ap.add_argument("--list", action="store_true")
    a = ap.parse_args(argv)
    if a.list:
        for k, v in IDS.items():
            print("%-20s %s" % (k, v))
        return 0
    if not a.base:
        ap.error("BASE is required")
    if a.xsd and not os.path.isfile(os.path.join(a.xsd, "all.xsd")):
        ap.error("--xsd: there is no all.xsd in %s" % a.xsd)
    c = Checker(a)
    c.run()
    return c.report()


if __name__ == "__main__":
    sys.exit(main())
