#!/usr/bin/env python3
"""What a content file leads to, decided without any of Waymark's code.

    expected.py CONTENT.jsonl          prints what is to be published, as JSON
    expected.py CONTENT.jsonl --at T   at that time (RFC 3339) [now]

- `urls`: each address once, with `lastmod`, `images` and `alternates` where all sitemaps that list it say the same: what
  the conformance checker compares.
- `entries`: each `<url>` of each series, with `videos` and `news` beside these.

For well-formed content of one site whose URLs want nothing but percent-encoding. Any two or three letters are a language
here, and the only limits known are those of parts and of a video's texts and tags. Of several records with one URL it is not
known who has it: only the loc is compared."""
import argparse
import collections
import datetime
import itertools
import json
import re
import string
import urllib.parse

NEWS_AGE = datetime.timedelta(hours=48)
MAX_PARTS = 1000
MAX_TITLE, MAX_DESCRIPTION, MAX_TAGS = 100, 2048, 32
LANGUAGE = re.compile(r"(?P<primary>[a-z]{2,3})(-(?P<script>[a-z]{4}))?(-(?P<region>[a-z]{2}|[0-9]{3}))?", re.IGNORECASE)
# The kind of Chinese that a script or else a region writes.
CHINESE = {"hans": "zh-cn", "cn": "zh-cn", "sg": "zh-cn", "hant": "zh-tw", "tw": "zh-tw", "hk": "zh-tw", "mo": "zh-tw"}
# What may not be known of a duplicate.
DETAILS = ("lastmod", "images", "alternates", "videos", "news")


# What RFC 3986 allows in paths and queries, and an escape's sign.
SAFE = "".join(set(string.punctuation) - set('"<>[\\]^`{|}'))


def encoded(url):
    return urllib.parse.quote(url, safe=SAFE)


def once(values):
    return [value for at, value in enumerate(values) if value not in values[:at]]


def moment(text):
    if text is None:
        return None
    if len(text) == 10:
        text += "T00:00:00+00:00"
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def newest(times):
    return max((time for time in times if time), key=moment, default=None)


def news_language(*codes):
    """The first code that is one, without script and region but for two kinds of Chinese."""
    match = next((match for code in codes if (match := LANGUAGE.fullmatch(code or ""))), None)
    if not match:
        return None
    primary, *parts = ((match[part] or "").lower() for part in ("primary", "script", "region"))
    return next((CHINESE[part] for part in parts if primary == "zh" and part in CHINESE), primary)


def series_of(kind, reserved):
    """Of `news`, `news-pages`, `news-pages-pages` … those that are not reserved, to the types of these names in order."""
    root = re.sub("(-pages)+$", "", kind)
    names = (root + "-pages" * times for times in itertools.count())
    free = (name for name in names if name not in reserved)
    return next(itertools.islice(free, kind[len(root):].count("-pages"), None))


class Site:
    """The records of one site at one time."""

    def __init__(self, records, now):
        self.now = now
        self.settings = next((record for record in records if record["type"] == "site"), {})
        pages = [record for record in records if record["type"] != "site"]
        self.base = self.settings.get("base_url") or "https://" + (pages[0].get("site") or pages[0]["url"].split("/")[2])
        eligible = [record for record in pages if self.is_eligible(record)]
        self.members, self.shared = collections.defaultdict(list), set()
        for record in self.unique(record for record in eligible if "archive_of" not in record):
            for taxonomy, terms in record.get("terms", {}).items():
                for term in terms:
                    self.members[taxonomy, term].append(record)
        self.pages = self.unique(record for record in eligible if "archive_of" not in record or self.members_of(record))
        self.groups = collections.defaultdict(dict)
        for record in sorted(self.pages, key=lambda record: record["id"]):
            if self.is_translation(record):
                self.groups[record["translation_group"]].setdefault(record["language"].lower(), record)

    def unique(self, records):
        first = {}
        for record in records:
            loc = encoded(record["url"])
            if first.setdefault(loc, record) is not record:
                self.shared.add(loc)
        return list(first.values())

    def of_type(self, record):
        return self.settings.get("types", {}).get(record["type"], {})

    def is_eligible(self, record):
        published, expires = moment(record.get("published_at")), moment(record.get("expires_at"))
        return (
            self.settings.get("public", True)
            and record["url"].startswith(self.base.rstrip("/") + "/")
            and record.get("status", "published") == "published"
            and record.get("visibility", "public") == "public"
            and not record.get("noindex", False)
            and not record.get("moved_to") and not record.get("gone", False)
            and record.get("kind", "content") == "content"
            and urllib.parse.urljoin(record["url"], record.get("canonical_url") or "") == record["url"]
            and self.of_type(record).get("public", True)
            and (published is None or published <= self.now)
            and (expires is None or expires > self.now)
        )

    def members_of(self, record):
        return self.members.get((record["archive_of"]["taxonomy"], record["archive_of"]["term"]), [])

    def lastmod(self, record):
        if "archive_of" in record:
            return newest(self.lastmod(member) for member in self.members_of(record))
        time = record.get("modified_at") or record.get("published_at")
        return time if time and moment(time) <= self.now else None

    def is_translation(self, record):
        return record.get("translation_group") and LANGUAGE.fullmatch(record.get("language") or "")

    def alternates(self, record):
        if self.is_translation(record):
            members = self.groups[record["translation_group"]].values()
            # One-sided links are ignored, and a set of one says nothing.
            if len(members) < 2 or not any(member is record for member in members):
                return {}
            links = {member["language"]: encoded(member["url"]) for member in members}
            marked = [encoded(member["url"]) for member in members if member.get("x_default")]
            return links | {"x-default": url for url in marked[:1]}
        given = [(link["hreflang"], encoded(link["url"])) for link in record.get("alternates", [])]
        if all(url == encoded(record["url"]) for _, url in given):
            return {}
        return {code: url for code, url in reversed(given) if code == "x-default" or LANGUAGE.fullmatch(code)}

    def parts(self, record):
        pages, url = record.get("pages", 1), record["url"]
        if "archive_of" in record:
            return []
        pattern = self.of_type(record).get("part_url")
        if not pattern and "?" not in url:
            pattern = "{url}{part}/" if url.endswith("/") else "{url}/{part}"
        if not pattern or not 1 < pages <= MAX_PARTS:
            return []
        return [encoded(pattern.replace("{url}", url).replace("{part}", str(part))) for part in range(2, pages + 1)]

    def videos(self, record):
        videos = []
        for video in record.get("videos", []):
            thumbnail = video.get("thumbnail_url") or video.get("thumbnail_loc")
            content = video.get("content_url") or video.get("content_loc")
            player = video.get("player_url") or video.get("player_loc")
            title = video.get("title") or record.get("title")
            expires = moment(video.get("expires_at") or video.get("expiration_date"))
            if thumbnail and title and (content or player) and (expires is None or expires > self.now):
                description = video.get("description") or record.get("description") or encoded(content or player)
                tags = video.get("tags", record.get("terms", {}).get("tag", []))
                videos.append({
                    "thumbnail_loc": encoded(thumbnail), "title": title[:MAX_TITLE],
                    "description": description[:MAX_DESCRIPTION], "content_loc": content and encoded(content),
                    "player_loc": player and encoded(player), "tags": tags[:MAX_TAGS],
                })
        return once(videos)

    def news(self, record):
        given = record.get("news")
        if given is False or (given is None and not self.of_type(record).get("news", False)):
            return None
        times = [record.get("published_at")]
        if not self.settings.get("news_published_only", False):
            times.append(record.get("modified_at"))
        own = given if isinstance(given, dict) else {}
        news = {
            "name": self.settings.get("news_name") or self.settings.get("name"),
            "language": news_language(own.get("language"), record.get("language"), self.settings.get("language")),
            "publication_date": record.get("published_at") or record.get("modified_at"),
            "title": next((title for title in (own.get("title"), record.get("title")) if title and title.strip()), None),
        }
        recent = any(time and self.now - NEWS_AGE < moment(time) <= self.now for time in times)
        return news if recent and all(news.values()) else None

    def entries(self):
        video_series, news_series = self.settings.get("video_series", "video"), self.settings.get("news_series", "news")
        for record in self.pages:
            loc, lastmod = encoded(record["url"]), self.lastmod(record)
            images = once([encoded(image["url"]) for image in record.get("images", [])])
            series = series_of(record["type"], (video_series, news_series, "wp"))
            common = {"loc": loc, "lastmod": lastmod, "images": [], "alternates": {}, "videos": [], "news": None}
            entries = [{"series": series} | common | {"images": images, "alternates": self.alternates(record)}]
            entries += [{"series": series} | common | {"loc": part} for part in self.parts(record)]
            if videos := self.videos(record):
                entries.append({"series": video_series} | common | {"videos": videos})
            if news := self.news(record):
                entries.append({"series": news_series} | common | {"images": images, "news": news})
            for entry in entries:
                yield {name: value for name, value in entry.items() if loc not in self.shared or name not in DETAILS}


def urls(entries):
    """Each address once, with what all of its entries agree on."""
    by_loc = {}
    for entry in entries:
        details = {name: entry[name] for name in ("lastmod", "images", "alternates") if name in entry}
        known = by_loc.setdefault(entry["loc"], details)
        by_loc[entry["loc"]] = {name: value for name, value in known.items() if details.get(name, ...) == value}
    return [{"loc": loc} | details for loc, details in by_loc.items()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("content")
    parser.add_argument("--at", type=moment, default=datetime.datetime.now(datetime.timezone.utc))
    arguments = parser.parse_args()
    with open(arguments.content, encoding="utf-8-sig") as lines:
        records = [json.loads(line) for line in lines if line.strip()]
    entries = list(Site(records, arguments.at).entries())
    print(json.dumps({"urls": urls(entries), "entries": entries}))


if __name__ == "__main__":
    main()
