#!/usr/bin/env python3
"""Content of a made-up site, for checks on a machine without real content.

    generate.py            prints some 2,000 records, JSON Lines
    generate.py --at T     as of that time (RFC 3339) [now]

The same time gives the same bytes everywhere. The records have every field that docs/reference/record.md documents, valid ones and invalid
ones, and every reason to be excluded from a public site. Most types have several sitemaps. News are news for 48 hours, so
their dates are relative to the time; all other dates are fixed. tests/outside/expected.py says what must be published."""
import argparse
import datetime
import itertools
import json

HOST = "tidewater.example"
BASE = f"https://{HOST}"
IMAGES = "https://images.tide-cdn.example"
POSTS = 330
ENTRIES_PER_SITEMAP = 80
LONG_AGO, FAR_AHEAD = "2009-05-04T03:02:01Z", "2099-12-31T23:59:59Z"

TOPICS = ["harbour", "tides", "boats", "weather", "fish market", "light & fog", "école", "潮汐", "Ebbe/Flut", "ropes", "birds"]
PEOPLE = ["ada", "brigid", "chidi", "dora", "emil", "faye", "goran"]
TAGS = [f"tag {n}" for n in range(40)]
# Ends of URLs: nothing, what has to be percent-encoded, and what has to stay as it is.
TAILS = [*[""] * 7, "-ä-ö-ü", "-日本", "-a b", "-%C3%A9t%C3%A9", "-it's", "-(x)", "-{y}", "-50%25", "-a+b", "-^|", "-~_.!$&*,;=:@"]
ZONES = ["Z", "+00:00", "+02:00", "-03:30", "+12:45"]
FREQUENCIES = ["always", "hourly", "daily", "weekly", "monthly", "yearly", "never"]
TEXTS = ["Plain", "Less < more > & \"quotes\" 'too'", "Ünïcödé", "漢字 and \N{FIRE}", "]]> and <!-- -->", "two  spaces"]


def of(values, n):
    return values[n % len(values)]


def time(n):
    """A date, or a time in one of the zones, of the years 2010 to 2024."""
    year, month, day = 2010 + n % 15, 1 + n % 12, 1 + n % 28
    date = f"{year}-{month:02}-{day:02}"
    return date if n % 4 == 0 else f"{date}T{n % 24:02}:{n % 60:02}:{n * 7 % 60:02}{of(ZONES, n)}"


def settings():
    yield {
        "id": f"site/{HOST}", "type": "site", "base_url": BASE, "public": True, "entries_per_sitemap": ENTRIES_PER_SITEMAP,
        "byte_limit": 2_000_000, "name": "The Tidewater Times & Gazette", "language": "en-GB", "news_name": "Tidewater Times",
        # The checker refuses news that were published earlier and only modified within 48 hours.
        "news_published_only": True, "video_series": "films", "stylesheet": "xsl", "feed": True, "cascaded_index": False,
        "llms": {"summary": "News of the tidewater [and beyond]", "types": ["post", "product"]},
        "indexnow_key": "tidewater-times-2f1c7a90",
        "robots": ["User-agent: *", "Disallow: /search", "", "# A comment", "User-agent: Example", "Crawl-delay: 5"],
        "types": {
            "post": {"changefreq": "monthly", "priority": 0.6},
            "product": {"changefreq": "weekly", "priority": 0.7, "part_url": "{url}?part={part}"},
            "bulletin": {"news": True, "changefreq": "hourly"},
            "internal": {"public": False},
        },
    }


def pages():
    """Pages with the fields that most pages have. The deployment's test deletes one of type `post`."""
    yield {"id": "page/home", "type": "page", "url": f"{BASE}/", "title": "The Tidewater Times", "priority": 1, "unknown": [None]}
    for n in range(POSTS):
        post = {
            "id": f"post/{n}", "type": "post", "url": f"{BASE}/stories/{2010 + n % 15}/{n}{of(TAILS, n)}/",
            "status": "published", "title": f"{of(TEXTS, n)} {n}", "description": of(TEXTS, n + 1), "modified_at": time(n),
            "published_at": LONG_AGO, "language": "en",
            "terms": {"topic": [of(TOPICS, n)], "author": [of(PEOPLE, n), of(PEOPLE, n * 3)], "tag": [of(TAGS, n * 5)]},
        }
        if n % 9 == 0:
            # The only page of its archive; and one page without an archive.
            post["terms"] = {"place": [f"pier {n}"]} if n else {}
        if n % 6 == 0:
            post |= {"changefreq": of(FREQUENCIES, n // 6), "priority": n % 11 / 10}
        if n % 50 == 3:
            # Ignored with a reason: what is not a frequency, a priority or a language.
            post |= {"changefreq": "sometimes", "priority": 1.5, "language": "en_US"}
        if n % 25 == 7:
            del post["modified_at"]
        if n % 100 == 11:
            post["modified_at"] = FAR_AHEAD
        if n % 40 == 5:
            del post["modified_at"], post["published_at"]
        if n % 30 == 1:
            same = [post["url"], post["url"].removeprefix(BASE), None]
            post |= {"canonical_url": of(same, n // 30), "expires_at": FAR_AHEAD}
        yield post
    for n in range(100):
        query = f"?number={n}&colour={of(['red', 'blau', 'grün'], n)}" if n % 4 == 0 else "/" if n % 2 else ""
        yield {
            "id": f"product/{n}", "type": "product", "url": f"{BASE}/shop/{n}{of(TAILS, n + 3)}{query}", "modified_at": time(n),
            "visibility": "public", "noindex": False, "kind": "content", "terms": {"topic": [of(TOPICS, n * 2)]},
        }
    # Types with names that are taken; an id and an address that are nearly too long.
    for kind, n in itertools.product(("news", "news-pages", "films", "wp"), range(6)):
        yield {"id": f"{kind}/{n}", "type": kind, "url": f"{BASE}/{kind}/{n}", "modified_at": time(n)}
    yield {"id": "page/" + "long" * 220, "type": "page", "url": f"{BASE}/" + "far/" * 480, "modified_at": "2020-02-29"}


def images():
    for n in range(85):
        some = [{"url": f"{IMAGES}/{n}/{at}{of(TAILS, n * 3 + at)}.jpg"} for at in range(1 + n % 4)]
        if n % 17 == 0:
            some += some[:1]
        if n == 80:
            some = [{"url": f"{BASE}/gallery/{at}.webp"} for at in range(300)]
        yield {"id": f"gallery/{n}", "type": "gallery", "url": f"{BASE}/galleries/{n}", "modified_at": time(n), "images": some}


def parts():
    for n in range(40):
        url = f"{BASE}/serials/{n}{of(TAILS, n)}{'/' if n % 2 else ''}"
        yield {"id": f"serial/{n}", "type": "serial", "url": url, "modified_at": time(n), "pages": 1 + n % 6}
    for n in range(20):
        yield {"id": f"product/parts/{n}", "type": "product", "url": f"{BASE}/shop/sets/{n}/", "modified_at": time(n), "pages": 3}
    # Without `part_url` an address with a query has no parts.
    yield {"id": "serial/query", "type": "serial", "url": f"{BASE}/serials/?name=x", "modified_at": "2020-02-03", "pages": 4}


def translations():
    languages = ["en", "de", "fr-CA", "zh-Hant", "pt-BR", "haw", "es-419"]
    for n in range(28):
        for at, language in enumerate(languages[:1 + n % len(languages)]):
            page = {
                "id": f"guide/{n}/{language}", "type": "guide", "url": f"{BASE}/{language.lower()}/guide/{n}/", "language": language,
                "translation_group": f"guide {n}", "modified_at": time(n + at), "title": f"{of(TEXTS, at)} {n}",
            }
            # Some groups have a second default, which is ignored.
            yield page | ({"x_default": True} if at == 0 or (n % 10 == 9 and at == 1) else {})
    same = {"type": "guide", "translation_group": "guide 6", "modified_at": "2021-07-08"}
    yield {"id": "guide/6/z", "url": f"{BASE}/de/guide/6/again/", "language": "de", **same}
    yield {"id": "guide/6/none", "url": f"{BASE}/none/guide/6/", **same}
    yield {"id": "guide/6/wrong", "url": f"{BASE}/wrong/guide/6/", "language": "en_US", **same}
    # Links in the records themselves, to each other and to another site. An invalid language is ignored.
    for n in range(12):
        ours = {"en": f"{BASE}/atlas/{n}/", "nl": f"{BASE}/atlas/{n}/kaart é/"}
        links = [{"hreflang": language, "url": url} for language, url in ours.items()]
        links += [{"hreflang": "sv", "url": f"https://atlas.example/{n}"}, {"hreflang": "x-default", "url": ours["en"]}]
        links += [{"hreflang": "sv_SE", "url": "https://atlas.example/none"}] if n % 3 == 0 else []
        for language, url in ours.items():
            yield {"id": f"atlas/{n}/{language}", "type": "atlas", "url": url, "modified_at": time(n), "alternates": links}
    alone = {"id": "atlas/alone", "type": "atlas", "url": f"{BASE}/atlas/alone/", "modified_at": "2018-01-02"}
    yield alone | {"alternates": [{"hreflang": "en", "url": alone["url"]}]}


def videos():
    for n in range(100):
        video = {
            "thumbnail_url": f"{IMAGES}/films/{n}{of(TAILS, n)}.png", "content_url": f"https://films.example/{n}.mp4?a=1&b=2",
            "title": f"{of(TEXTS, n)} film {n}", "description": of(TEXTS, n + 2),
        }
        every = {
            "player_url": f"https://films.example/play/{n}", "duration": 1 + n * 190 % 28_800, "view_count": n * 1_001,
            "rating": n % 51 / 10, "published_at": time(n), "expires_at": FAR_AHEAD,
            "tags": [f"{of(TAGS, at)} <{n}>" for at in range(n % 41)],
            "family_friendly": n % 2 == 0, "requires_subscription": n % 3 == 0, "live": n % 5 == 0,
            "restriction": {of(["allow", "deny"], n): ["DE", "AT", "CH"][:1 + n % 3]},
            "platform": {of(["deny", "allow"], n): ["web", "mobile", "tv"][:1 + n % 3]},
            "uploader": f"Uploader & {n}" if n % 2 else {"name": f"Uploader {n}", "info": f"{BASE}/people/{n}"},
        }
        page = {
            "id": f"lesson/{n}", "type": "lesson", "url": f"{BASE}/lessons/{n}{of(TAILS, n + 5)}", "modified_at": time(n),
            "title": f"Lesson {n}", "description": "About knots.", "terms": {"tag": [of(TAGS, n), of(TAGS, n + 1)]},
        }
        match n % 10:
            case 0:
                some = [video | every]
            case 1:
                some = [video, video | {"content_url": f"https://films.example/{n}/second"}, video]
            case 2:
                # Title, description and tags are those of the page.
                some = [{name: video[name] for name in ("thumbnail_url", "content_url")}]
            case 3:
                some = [{
                    "thumbnail_loc": video["thumbnail_url"], "player_loc": every["player_url"], "title": "The protocol's names",
                    "publication_date": time(n), "expiration_date": FAR_AHEAD,
                    "restriction": {"relationship": "deny", "countries": ["FR"]},
                    "platform": {"relationship": "allow", "platforms": ["tv"]},
                }]
            case 4:
                # None is listed: without a picture, without an address, expired.
                some = [video | {"thumbnail_url": None}, video | {"content_url": None}, video | {"expires_at": LONG_AGO}]
            case 5:
                # Only the invalid fields are ignored.
                some = [video | {"duration": 90_000, "rating": 9, "view_count": -1, "live": "perhaps", "platform": {"allow": []}}]
            case 6:
                some = [video | {"title": "t" * 150, "description": "d" * 3_000}]
            case _:
                some = [video]
        yield page | {"videos": some}


def news(now):
    def ago(hours):
        return (now - datetime.timedelta(hours=hours)).isoformat(timespec="seconds")

    for n in range(60):
        # Within the last 24 hours, so that they are news for all of a long check; or more than four days ago.
        hours = 1 + n % 24 if n % 3 else 100 + n
        bulletin = {
            "id": f"bulletin/{n}", "type": "bulletin", "url": f"{BASE}/bulletins/{n}{of(TAILS, n)}", "published_at": ago(hours),
            "title": f"{of(TEXTS, n)} bulletin {n}", "images": [{"url": f"{IMAGES}/bulletins/{n}.jpg"}][:n % 2],
            "language": of(["en", "de-AT", "zh-TW", "zh-Hant", "zh-CN", None], n),
        }
        match n % 10:
            case 1:
                bulletin["news"] = {"title": "Another title", "language": "fr"}
            case 2:
                bulletin["news"] = {"title": "   "}
            case 4:
                del bulletin["title"]
            case 5:
                bulletin["news"] = False
        yield bulletin
    # Pages of another type that say so themselves. A page that was only modified is not news.
    for n in range(8):
        yield {
            "id": f"post/new/{n}", "type": "post", "url": f"{BASE}/stories/new/{n}/", "published_at": ago(2 + n), "title": "New",
            "news": True,
        }
    yield {
        "id": "post/edited", "type": "post", "url": f"{BASE}/stories/edited/", "published_at": LONG_AGO, "modified_at": ago(3),
        "title": "Edited", "news": True,
    }


def archives():
    for taxonomy, terms in (("topic", TOPICS), ("author", PEOPLE), ("tag", TAGS)):
        for n, term in enumerate(terms):
            yield {
                "id": f"{taxonomy}/{term}", "type": taxonomy, "url": f"{BASE}/{taxonomy}/{term}/", "title": term,
                "archive_of": {"taxonomy": taxonomy, "term": term}, "modified_at": "2005-06-07",
                # An archive is no page of another one, and its further pages are not listed.
                "pages": 1 + n % 3, "terms": {"topic": ["none but archives"]},
            }
    for n in range(0, POSTS, 9):
        # The first has no page.
        archive_of = {"taxonomy": "place", "term": f"pier {n}"}
        yield {"id": f"place/{n}", "type": "place", "url": f"{BASE}/places/{n}/", "archive_of": archive_of}
    for term in ("nobody's", "none but archives"):
        archive_of = {"taxonomy": "topic", "term": term}
        yield {"id": f"topic/{term}", "type": "topic", "url": f"{BASE}/topic/{term}/", "archive_of": archive_of}


def excluded():
    reasons = [
        {"status": "draft"}, {"status": "pending"}, {"status": "scheduled"}, {"status": "private"}, {"status": "trash"},
        {"status": "error"}, {"status": "publishd"}, {"visibility": "private"}, {"visibility": "password"}, {"visibility": "all"},
        {"noindex": True}, {"noindex": "yes"}, {"kind": "search_results"}, {"kind": "error"}, {"kind": "paginated_archive"},
        {"kind": "other"}, {"canonical_url": f"{BASE}/elsewhere/"}, {"canonical_url": "../"}, {"published_at": FAR_AHEAD},
        {"moved_to": "/elsewhere/"}, {"gone": True}, {"expires_at": LONG_AGO}, {"type": "internal"}, {"url": "https://shop.example/1"}, {"url": f"http://{HOST}/plain/"},
        {"url": f"{BASE}.evil.example/"}, {"url": "/relative"}, {"url": "mailto:someone@example"}, {"url": "not an address"},
    ]
    for n, reason in enumerate(reasons * 34):
        page = {"id": f"aside/{n}", "type": "page", "url": f"{BASE}/aside/{n}/", "modified_at": time(n), "title": "Not listed"}
        # Its archive and its parts are not listed either.
        page |= {"terms": {"topic": ["nobody's"]}} | ({"pages": 2} if n % 20 == 0 else {})
        yield page | reason
    # Two or three records with the same address, in two spellings.
    for n in range(30):
        for at in range(2 + n % 2):
            name = "é" if at % 2 else "%C3%A9"
            yield {"id": f"twin/{n}/{at}", "type": "twin", "url": f"{BASE}/twins/{n}/{name}", "modified_at": time(n + at)}


def records(now):
    groups = settings(), pages(), images(), parts(), translations(), videos(), news(now), archives(), excluded()
    for record in itertools.chain(*groups):
        # Without `site`, a page with a foreign address would be of another site. Settings have no such field.
        yield record if record["type"] == "site" else {"id": record["id"], "site": HOST} | record


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    now = datetime.datetime.now(datetime.timezone.utc).isoformat()
    parser.add_argument("--at", default=now)
    at = datetime.datetime.fromisoformat(parser.parse_args().at.replace("Z", "+00:00"))
    for record in records(at):
        print(json.dumps(record, ensure_ascii=False))


if __name__ == "__main__":
    main()
