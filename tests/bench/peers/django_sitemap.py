"""Django's sitemap framework, by the view that its documentation names. It has no images."""

import datetime
import gzip
import json
import sys

import django
from django.conf import settings
from django.contrib.sitemaps import Sitemap
from django.contrib.sitemaps.views import sitemap
from django.test import RequestFactory

settings.configure(
    ALLOWED_HOSTS=["www.example.com"],
    INSTALLED_APPS=["django.contrib.sitemaps"],
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}],
    USE_TZ=True,
)
django.setup()


class Pages(Sitemap):
    limit = 50_000
    protocol = "https"

    def items(self):
        with open(sys.argv[1], encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def location(self, record):
        return record["url"].removeprefix("https://www.example.com")

    def lastmod(self, record):
        return datetime.datetime.fromisoformat(record["modified_at"])


request = RequestFactory().get("/sitemap.xml", headers={"host": "www.example.com"})
response = sitemap(request, {"pages": Pages()}).render()
with gzip.open(sys.argv[2], "wb", 6) as file:
    file.write(response.content)
