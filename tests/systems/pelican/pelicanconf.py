SITEURL = "https://www.lantern.example"
SITENAME = "Lantern"
AUTHOR = "Ana"
TIMEZONE = "Europe/Berlin"
DEFAULT_LANG = "en"
PATH = "content"
PLUGINS = ["pelican.plugins.sitemap"]
SITEMAP = {"format": "xml", "exclude": [], "changefreqs": {}, "priorities": {}}
FEED_ALL_ATOM = CATEGORY_FEED_ATOM = TRANSLATION_FEED_ATOM = AUTHOR_FEED_ATOM = AUTHOR_FEED_RSS = None
