"""What smoke.py looks at: each thing that only an account shows, and the line of the docs that has to change if it is not so."""
from table import Fact

ROLES = {"IngestRole": "IngestFunction", "RegenerateRole": "RegenerateFunction", "HttpRole": "HttpFunction",
         "SweepRole": "SweepFunction"}

# Why an emulator cannot show a fact.
URL = "an emulator's function URL is not Lambda's"
CDN = "an emulator's distribution is not CloudFront"
IAM = "an emulator does not ask IAM"
ACCOUNT = "an emulator has no account"
TEXT = "an emulator's function URL carries text alone"
# The lines of the docs that depend on facts. The test looks them up.
HEAD_LINE = ("CDN.md", "Use GET to")
REVALIDATED = ("CDN.md", "when the CDN asks whether its copy is still current")
SIGNED = ("CDN.md", "**Any other CDN.** The function's URL accepts only signed requests")
PLAIN = ("CDN.md", "ETags are strong except for gzip encodings")
GZIP = ("CDN.md", "then only the `.gz` files are gzip, and everything else is plain")
MINUTE = ("CDN.md", "Redirects and 404s: a minute.")
FRESH = ("METRICS.md", "So a change is in its sitemap after at most")
RIGHTS = ("SECURITY.md", "Each statement names one table, bucket or log group of the stack")
FACTS = (
    Fact("URL: HEAD of a file", URL, docs=HEAD_LINE),
    Fact("URL: 304 of a file", URL, docs=REVALIDATED),
    Fact("URL: a signed request is answered", IAM, docs=SIGNED),
    Fact("URL: an unsigned request is refused", IAM, ignored=True,
         docs=("SECURITY.md", "Lambda answers an unsigned request with 403 and does not call the function")),
    Fact("URL: redirect", docs=MINUTE),
    Fact("URL: 404", docs=MINUTE),
    Fact("concurrent executions", ACCOUNT, ignored=True, docs=("OPERATIONS.md", "A new table has four stream shards")),
    Fact("the tables' ceilings", "an emulator sets no maximum", ignored=True,
         docs=("OPERATIONS.md", "whether CloudFormation removes it was not tried")),
    Fact("throttled keys are recorded", "an emulator records no keys", ignored=True,
         docs=("OPERATIONS.md", "for both tables the keys that are throttled most")),
    *(Fact(f"{role}: what it may do", IAM, ignored=True, docs=RIGHTS) for role in ROLES),
    Fact("a load: to the origin", docs=FRESH),
    Fact("URL: HEAD of a sitemap", URL, docs=HEAD_LINE),
    Fact("URL: 304 of a sitemap", URL, docs=REVALIDATED),
    Fact("URL: identity", docs=PLAIN),
    Fact("URL: gzip", TEXT, ignored=True, docs=GZIP),
    Fact("URL: gzip file", TEXT, ignored=True, docs=GZIP),
    Fact("edge: a load", docs=("CDN.md", "Documents: a minute, a further minute while the CDN revalidates")),
    Fact("edge: HEAD of a sitemap", CDN, docs=HEAD_LINE),
    Fact("edge: 304 of a sitemap", CDN, docs=REVALIDATED),
    Fact("edge: identity", docs=PLAIN),
    Fact("edge: gzip", TEXT, ignored=True, docs=GZIP),
    Fact("edge: gzip file", TEXT, ignored=True, docs=GZIP),
    Fact("edge: redirect", docs=MINUTE),
    Fact("edge: 404", docs=MINUTE),
    Fact("edge: a viewer cannot choose the site", docs=("CDN.md", "**A viewer may send any of these headers.**")),
    Fact("edge: a person sees the view", docs=("CDN.md", "Browsers send `Sec-Fetch-Dest: document` when somebody opens an address")),
    Fact("edge: a crawler's navigation gets XML", docs=("CDN.md", "The view is for people: not for crawlers")),
    Fact("edge: the cache keeps a sitemap", CDN, ignored=True, docs=("CDN.md", "A document is cached twice: plain and gzip")),
    Fact("an edit: to the origin", docs=FRESH),
    Fact("an edit: to the edge", CDN, docs=("CDN.md", "Documents: a minute, a further minute while the CDN revalidates")),
    Fact("URL: text of an emptied sitemap", URL, docs=("ARCHITECTURE.md", "No 200 to a GET is without a body")),
    Fact("edge: text of an emptied sitemap", CDN, docs=("ARCHITECTURE.md", "No 200 to a GET is without a body")),
    Fact("URL: a damaged object", docs=("CDN.md", "`http` checks a stored")),
    Fact("URL: the object is whole again", docs=("CDN.md", "`http` checks a stored")),
    Fact("the site is taken off", docs=("OPERATIONS.md", "**Take a site off.**")),
    Fact("alarms", "an emulator's alarms never go off", ignored=True, docs=("OPERATIONS.md", "so a new stack is silent")),
    Fact("alarms reach somebody", "an emulator sends no mail", ignored=True,
         docs=("OPERATIONS.md", "once it has confirmed AWS's first mail")),
    Fact("functions' errors and throttles", "an emulator counts nothing", ignored=True,
         docs=("OPERATIONS.md", "With the factor's default of 1")),
    Fact("the bill's counters", "an emulator counts nothing", ignored=True, docs=("COSTS.md", "No call went to AWS, and no bill was compared")),
)
