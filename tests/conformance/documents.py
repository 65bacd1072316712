"""The rules for sitemap documents: which elements and attributes there are, their order and number, and their values.

They are written after the protocol (https://www.sitemaps.org/protocol.html) and Google's pages on sitemaps, and are checked
where the official schemas are not at hand, too. The schemas also look into elements that search engines no longer read;
these rules check only the place of such an element.

    for problem in problems(root): print(problem.check, problem.line, problem.text)"""

import collections
import datetime
import re

SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"
IMAGE = "http://www.google.com/schemas/sitemap-image/1.1"
VIDEO = "http://www.google.com/schemas/sitemap-video/1.1"
NEWS = "http://www.google.com/schemas/sitemap-news/0.9"
XHTML = "http://www.w3.org/1999/xhtml"
PREFIXES = {SITEMAP: "", IMAGE: "image:", VIDEO: "video:", NEWS: "news:", XHTML: "xhtml:"}
# An attribute of this namespace says where a schema is, and may be in any element.
INSTANCE = "{http://www.w3.org/2001/XMLSchema-instance}"

CHECKS = {
    "rule.elements": "elements and attributes are known, in order, and not too many",
    "rule.required": "no required element or attribute is missing",
    "rule.values": "texts, numbers, times, addresses and languages are valid and within their limits",
}

ANY = float("inf")
TIME = re.compile(r"^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d):(\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d))?$")
DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)")
WHOLE = re.compile(r"\+?\d+")
ADDRESS = re.compile(r"https?://[^/?#\s]+([/?#]\S*)?")
NEWS_LANGUAGE = re.compile(r"zh-cn|zh-tw|[a-z]{2,3}")
HREFLANG = re.compile(r"x-default|[A-Za-z]{2,3}(-[A-Za-z]{4})?(-([A-Za-z]{2}|\d{3}))?")
COUNTRIES = re.compile(r"([A-Z]{2}( +[A-Z]{2})*)?")
PLATFORMS = re.compile(r"((web|mobile|tv)( (web|mobile|tv))*)?")

Problem = collections.namedtuple("Problem", "check line text")
# What an element has: a value, which is a function from a text to what is wrong with it; or children, the sequence of its
# places; or neither, if its content is not looked into. `one_of` names children of which there must be one.
Element = collections.namedtuple("Element", "value children attributes one_of", defaults=(None, None, {}, ()))
Attribute = collections.namedtuple("Attribute", "value required", defaults=(False,))
# A place in a sequence: the elements that may be there, by name, and how many of each.
Place = collections.namedtuple("Place", "elements least most", defaults=(1, 1))


def moment(text):
    """The time of a W3C date, or of a date with a time to the second and a zone. None if it is neither."""
    match = TIME.match(text or "")
    if not match:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    try:
        if hour is None:
            return datetime.datetime(int(year), int(month), int(day), tzinfo=datetime.timezone.utc)
        offset = datetime.timedelta()
        if zone != "Z":
            offset = datetime.timedelta(hours=int(zone[1:3]), minutes=int(zone[4:6])) * (1 if zone[0] == "+" else -1)
        micros = min(999_999, int(float(fraction or 0) * 1e6))
        zone = datetime.timezone(offset)
        return datetime.datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), micros, zone)
    except ValueError:
        return None


def text(most=ANY):
    def problem(value):
        if not value.strip():
            return "is empty"
        if len(value) > most:
            return f"has {len(value)} characters, more than {most}"

    return problem


def words(*allowed):
    return lambda value: None if value in allowed else f"is {value!r}, not one of {', '.join(allowed)}"


def matching(pattern, what):
    return lambda value: None if pattern.fullmatch(value) else f"is {value!r}, not {what}"


def number(pattern, what, least=0, most=ANY):
    def problem(value):
        if not pattern.fullmatch(value.strip()):
            return f"is {value!r}, not {what}"
        if not least <= float(value) <= most:
            return f"is {value.strip()}, not from {least} to {most}"

    return problem


def time(value):
    return None if moment(value.strip()) else f"is {value!r}, not a date or a time with seconds and a zone"


def address(shortest=0, longest=ANY):
    def problem(value):
        value = value.strip()
        if not ADDRESS.fullmatch(value):
            return f"is {value[:120]!r}, not an absolute address"
        if not value.isascii() or re.search(r'[<>"{}|\\^`]|%(?![0-9A-Fa-f]{2})', value):
            return f"is {value[:120]!r}, not percent-encoded"
        if not shortest <= len(value) <= longest:
            return f"has {len(value)} characters, not {shortest} to {longest}"

    return problem


def place(name, element, least=1, most=1):
    return Place({name: element}, least, most)


def maybe(name, element, most=1):
    return place(name, element, 0, most)


def in_namespace(namespace, *places):
    """The places with their names qualified."""
    return tuple(
        one._replace(elements={f"{{{namespace}}}{name}": element for name, element in one.elements.items()})
        for one in places
    )


UNCHECKED = Element()
YES_OR_NO = Element(words("yes", "Yes", "YES", "no", "No", "NO"))
SECONDS = number(WHOLE, "a whole number", 0, 28_800)
RELATIONSHIP = {"relationship": Attribute(words("allow", "deny"), required=True)}
# 2,048 and more are too many for some readers.
LOC = Element(address(12, 2_047))

IMAGE_IMAGE = Element(
    children=in_namespace(
        IMAGE,
        place("loc", Element(address())),
        maybe("caption", UNCHECKED),
        maybe("geo_location", UNCHECKED),
        maybe("title", UNCHECKED),
        maybe("license", UNCHECKED),
    )
)
VIDEO_VIDEO = Element(
    children=in_namespace(
        VIDEO,
        place("thumbnail_loc", Element(address())),
        place("title", Element(text(100))),
        place("description", Element(text(2_048))),
        maybe("content_loc", Element(address())),
        maybe("player_loc", Element(address(), attributes={"allow_embed": Attribute(None), "autoplay": Attribute(None)})),
        maybe("duration", Element(SECONDS)),
        maybe("expiration_date", Element(time)),
        maybe("rating", Element(number(DECIMAL, "a number", 0, 5))),
        maybe("content_segment_loc", UNCHECKED, ANY),
        maybe("view_count", Element(number(WHOLE, "a whole number"))),
        maybe("publication_date", Element(time)),
        maybe("tag", Element(text()), 32),
        maybe("category", UNCHECKED),
        maybe("family_friendly", YES_OR_NO),
        maybe("restriction", Element(matching(COUNTRIES, "a list of countries"), attributes=RELATIONSHIP)),
        maybe("gallery_loc", UNCHECKED),
        maybe("price", UNCHECKED, ANY),
        maybe("requires_subscription", YES_OR_NO),
        maybe("uploader", Element(text(), attributes={"info": Attribute(address())})),
        maybe("tvshow", UNCHECKED),
        maybe("platform", Element(matching(PLATFORMS, "a list of platforms"), attributes=RELATIONSHIP)),
        maybe("live", YES_OR_NO),
        maybe("id", UNCHECKED, ANY),
    ),
    one_of=(f"{{{VIDEO}}}content_loc", f"{{{VIDEO}}}player_loc"),
)
NEWS_NEWS = Element(
    children=in_namespace(
        NEWS,
        place(
            "publication",
            Element(
                children=in_namespace(
                    NEWS,
                    place("name", Element(text())),
                    place("language", Element(matching(NEWS_LANGUAGE, "a language, zh-cn or zh-tw"))),
                )
            ),
        ),
        maybe("access", UNCHECKED),
        maybe("genres", UNCHECKED),
        place("publication_date", Element(time)),
        place("title", Element(text())),
        maybe("keywords", UNCHECKED),
        maybe("stock_tickers", UNCHECKED),
    )
)
XHTML_LINK = Element(
    children=(),
    attributes={
        "rel": Attribute(words("alternate"), required=True),
        "hreflang": Attribute(matching(HREFLANG, "a language"), required=True),
        "href": Attribute(address(), required=True),
    },
)
# They may be in any order.
EXTENSIONS = Place(
    {
        f"{{{IMAGE}}}image": IMAGE_IMAGE,
        f"{{{VIDEO}}}video": VIDEO_VIDEO,
        f"{{{NEWS}}}news": NEWS_NEWS,
        f"{{{XHTML}}}link": XHTML_LINK,
    },
    0,
    ANY,
)
CHANGEFREQ = Element(words("always", "hourly", "daily", "weekly", "monthly", "yearly", "never"))
URL = Element(
    children=in_namespace(
        SITEMAP,
        place("loc", LOC),
        maybe("lastmod", Element(time)),
        maybe("changefreq", CHANGEFREQ),
        maybe("priority", Element(number(DECIMAL, "a number", 0, 1))),
    )
    + (EXTENSIONS,)
)
ENTRY = Element(children=in_namespace(SITEMAP, place("loc", LOC), maybe("lastmod", Element(time))))
# Whether a document may have no entry is not decided here: the checker has an option for that.
ROOTS = {
    f"{{{SITEMAP}}}urlset": Element(children=in_namespace(SITEMAP, maybe("url", URL, ANY))),
    f"{{{SITEMAP}}}sitemapindex": Element(children=in_namespace(SITEMAP, maybe("sitemap", ENTRY, ANY))),
}


def problems(root):
    """All that is wrong in a parsed document, in its order."""
    element = ROOTS.get(root.tag)
    if not element:
        yield Problem("rule.elements", root.sourceline, f"<{shown(root.tag)}> is not the root of a sitemap or an index")
        return
    yield from problems_of(root, element)


def problems_of(node, rule):
    def problem(check, what):
        return Problem(check, node.sourceline, f"<{shown(node.tag)}> {what}")

    for name, value in node.attrib.items():
        attribute = rule.attributes.get(name)
        if attribute and attribute.value and (wrong := attribute.value(value)):
            yield problem("rule.values", f"{name} {wrong}")
        if not attribute and not name.startswith(INSTANCE) and rule is not UNCHECKED:
            yield problem("rule.elements", f"has an unknown attribute {name}")
    for name, attribute in rule.attributes.items():
        if attribute.required and name not in node.attrib:
            yield problem("rule.required", f"has no {name}")
    # Neither comments nor processing instructions.
    children = [child for child in node if isinstance(child.tag, str)]
    if rule.children is not None:
        yield from problems_of_sequence(node, children, rule, problem)
    elif rule.value:
        if children:
            yield problem("rule.elements", f"has an element <{shown(children[0].tag)}> in its text")
        elif wrong := rule.value("".join([node.text or "", *(child.tail or "" for child in node)])):
            yield problem("rule.values", wrong)


def problems_of_sequence(node, children, rule, problem):
    if (node.text or "").strip() or any((child.tail or "").strip() for child in node):
        yield problem("rule.elements", "has text between its elements")
    found, reached = collections.Counter(), 0
    for child in children:
        at = next((at for at, place in enumerate(rule.children) if child.tag in place.elements), None)
        if at is None:
            yield problem("rule.elements", f"has an unknown element <{shown(child.tag)}>")
            continue
        if at < reached:
            yield problem("rule.elements", f"has <{shown(child.tag)}> too late")
        reached = max(reached, at)
        found[child.tag] += 1
        yield from problems_of(child, rule.children[at].elements[child.tag])
    for place in rule.children:
        for name in place.elements:
            if found[name] < place.least:
                yield problem("rule.required", f"has no <{shown(name)}>")
            if found[name] > place.most:
                yield problem("rule.elements", f"has {found[name]} <{shown(name)}>, more than {place.most}")
    if rule.one_of and not any(found[name] for name in rule.one_of):
        yield problem("rule.required", f"has none of {', '.join(f'<{shown(name)}>' for name in rule.one_of)}")


def shown(tag):
    """A qualified name with the prefix that it usually has."""
    namespace, _, name = tag.removeprefix("{").rpartition("}")
    return PREFIXES.get(namespace, f"{{{namespace}}}") + name
