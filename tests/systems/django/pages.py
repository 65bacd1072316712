"""A site with two sitemaps and their index, as Django's sitemap framework makes them."""
import datetime
import zoneinfo

import django
from django.conf import settings

BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
settings.configure(
    SECRET_KEY="none", ROOT_URLCONF="pages", ALLOWED_HOSTS=["www.lantern.example"], TIME_ZONE="Europe/Berlin", USE_TZ=True,
    INSTALLED_APPS=["django.contrib.sitemaps"], LANGUAGES=[("en", "English"), ("de", "Deutsch")], USE_I18N=True,
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}], SECURE_PROXY_SSL_HEADER=None)
django.setup()

from django.contrib.sitemaps import Sitemap  # noqa: E402
from django.contrib.sitemaps.views import index, sitemap  # noqa: E402
from django.urls import path  # noqa: E402


class Articles(Sitemap):
    protocol = "https"

    def items(self):
        return [("/soup-for-nine/", datetime.datetime(2026, 2, 28, 23, 30, tzinfo=datetime.timezone.utc).astimezone(BERLIN)),
                ("/café/", datetime.datetime(2026, 3, 1, 10, 20, 30, 500000, tzinfo=datetime.timezone.utc).astimezone(BERLIN))]

    def location(self, item):
        return item[0]

    def lastmod(self, item):
        return item[1]

    def get_domain(self, site=None):
        return "www.lantern.example"


class Static(Articles):
    def items(self):
        return ["/", "/about/?a=1&b=2"]

    def location(self, item):
        return item

    lastmod = None


sitemaps = {"articles": Articles, "static": Static}
urlpatterns = [
    path("sitemap.xml", index, {"sitemaps": sitemaps}), path("sitemap-<section>.xml", sitemap, {"sitemaps": sitemaps},
                                                             name="django.contrib.sitemaps.views.sitemap"),
]
