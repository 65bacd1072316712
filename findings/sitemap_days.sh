#!/usr/bin/env bash
# The same change, in sitemaps of two generators that are told the same time zone, has two different days.
#
# Packages: hexo 8.1.2 with hexo-generator-sitemap 3.0.1 (npm), Django 5.2.19 (PyPI). Both have the time zone Europe/Berlin.
# Guess:    lastmod of a page that changed on 1 March at 00:30 in Berlin is 2026-03-01, the site's day, or a time with its offset.
# Seen:     Django's sitemap has 2026-03-01. Hexo's has 2026-02-28: the day in UTC, without a time, for a post dated 2026-03-01 00:30.
# So:       a lastmod without a time may be a day off in either direction, and must not be compared as if it were a midnight.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check django==5.2.19
mkdir -p site/source/_posts
cd site
echo '{"private": true, "hexo": {"version": "8.1.2"}}' >package.json
npm install --silent --no-audit --no-fund hexo@8.1.2 hexo-generator-sitemap@3.0.1 hexo-renderer-marked@7.0.1
printf 'url: https://www.example.com\ntimezone: Europe/Berlin\ntheme: false\npermalink: :title/\n' >_config.yml
printf -- '---\ntitle: Soup\ndate: 2026-03-01 00:30:00\nupdated: 2026-03-01 00:30:00\n---\nSoup.\n' >source/_posts/soup.md
timeout 120 node_modules/.bin/hexo generate --silent
cd ..
cat >sitemap.py <<'PY'
import datetime
import zoneinfo

import django
from django.conf import settings

settings.configure(TIME_ZONE="Europe/Berlin", USE_TZ=True, INSTALLED_APPS=["django.contrib.sitemaps"], ALLOWED_HOSTS=["www.example.com"],
                   TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}])
django.setup()
from django.contrib.sitemaps import Sitemap  # noqa: E402
from django.contrib.sitemaps.views import sitemap  # noqa: E402
from django.test import RequestFactory  # noqa: E402


class Posts(Sitemap):
    protocol = "https"

    def items(self):
        return [datetime.datetime(2026, 3, 1, 0, 30, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin")).astimezone(datetime.timezone.utc)]

    def location(self, item):
        return "/soup/"

    def lastmod(self, item):
        return item

    def get_domain(self, site=None):
        return "www.example.com"


print(sitemap(RequestFactory(headers={"host": "www.example.com"}).get("/sitemap.xml"), {"posts": Posts}).render().content.decode())
PY
lastmod() { tr -d ' \n' | sed -n "s|.*soup/</loc><lastmod>\([^<]*\)<.*|\1|p"; }
day_of_hexo=$(lastmod <site/public/sitemap.xml)
day_of_django=$(timeout 60 venv/bin/python sitemap.py | lastmod)
printf '%s\n' "hexo $day_of_hexo" "django $day_of_django" | tee seen
cat >expected <<'TEXT'
hexo 2026-02-28
django 2026-03-01
TEXT
diff expected seen || { echo "this has changed" >&2; exit 1; }
