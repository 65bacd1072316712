"""smoke.py's own records. Each has a mark with the run's token, so that no run touches what is not its own."""
import datetime

PREFIX = "waymark-smoke/"
MARK = "waymark_smoke"
# A site of no distribution, if the distribution's own name is taken. `.invalid` is nobody's (RFC 2606).
NOWHERE = "waymark-smoke.invalid"

# With the settings and the page that goes, well within a transaction's 100 actions.
PAGES = 24
SITEMAP, EMPTIED = "/smoke-sitemap.xml", "/smoke-gone-sitemap.xml"


def when(moment):
    return moment.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def settings(site, run):
    return {"id": f"site/{site}", "type": "site", "site": site, MARK: run}


def page(site, run, name, modified, kind="smoke"):
    return {"id": f"{PREFIX}{name}", "type": kind, "site": site, "url": f"https://{site}/{PREFIX}{name}/", "status": "published",
            "modified_at": when(modified), MARK: run}


def of_site(site, run, modified):
    """Pages, a page of a type of its own, which is to go, and at last the settings that make the site."""
    names = [f"page-{n:02}" for n in range(PAGES)]
    return [page(site, run, name, modified) for name in names] + [page(site, run, "gone", modified, "smoke-gone"),
                                                                  settings(site, run)]


def ids():
    """Of all pages that a run may have left."""
    return [f"{PREFIX}page-{n:02}" for n in range(PAGES)] + [f"{PREFIX}gone"]
