#!/usr/bin/env python3
"""The pages that a content file leads to, decided without any of Waymark's code.

    expected.py CONTENT.jsonl      prints [{"loc", "lastmod", "images"}, ...] for the conformance checker

For well-formed content of one site whose URLs want nothing but percent-encoding. Of several records with one URL the first in the
file stands: only the loc is compared for those."""
import datetime
import json
import string
import sys
import urllib.parse

NOW = datetime.datetime.now(datetime.timezone.utc)


def encoded(url):
    return urllib.parse.quote(url, safe=string.punctuation)


def moment(text):
    if text is None:
        return None
    if len(text) == 10:
        text += "T00:00:00+00:00"
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def listed(record, settings):
    shown = (
        record.get("status", "published") == "published"
        and record.get("visibility", "public") == "public"
        and not record.get("noindex", False)
        and record.get("kind", "content") == "content"
        and record.get("canonical_url", record["url"]) == record["url"]
        and settings.get("types", {}).get(record["type"], {}).get("public", True)
        and "archive_of" not in record  # archives are not listed yet
    )
    published, expires = moment(record.get("published_at")), moment(record.get("expires_at"))
    return shown and (published is None or published <= NOW) and (expires is None or expires > NOW)


def main(path):
    with open(path, encoding="utf-8-sig") as lines:
        records = [json.loads(line) for line in lines if line.strip()]
    settings = next((record for record in records if record["type"] == "site"), {})
    pages = [record for record in records if record["type"] != "site"]
    base = settings.get("base_url", "https://" + (pages[0].get("site") or pages[0]["url"].split("/")[2]))
    seen, entries = {}, []
    for record in pages:
        if not record["url"].startswith(base.rstrip("/") + "/") or not listed(record, settings):
            continue
        if record["url"] in seen:
            for name in ("lastmod", "images"):
                seen[record["url"]].pop(name, None)
            continue
        lastmod = record.get("modified_at") or record.get("published_at")
        if lastmod and moment(lastmod) > NOW:
            lastmod = None
        images = [encoded(image["url"]) for image in record.get("images", [])]
        entry = {"loc": encoded(record["url"]), "lastmod": lastmod, "images": images}
        seen[record["url"]] = entry
        entries.append(entry)
    json.dump(entries, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
