"""A site of Wagtail in memory: a live page, a draft, and one behind a password. Writes its sitemap into `out`."""
import datetime
import pathlib

import django
from django.conf import settings

settings.configure(
    SECRET_KEY="none", ROOT_URLCONF="urls", ALLOWED_HOSTS=["www.lantern.example"], TIME_ZONE="Europe/Berlin", USE_TZ=True,
    INSTALLED_APPS=["django.contrib.sitemaps", "wagtail.contrib.sitemaps", "wagtail.users", "wagtail.images", "wagtail.documents", "wagtail.search", "wagtail.admin",
                    "wagtail.sites", "wagtail", "taggit", "modelcluster", "django.contrib.auth", "django.contrib.contenttypes",
                    "django.contrib.sessions"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}, WAGTAIL_SITE_NAME="Lantern",
    WAGTAILADMIN_BASE_URL="https://www.lantern.example", DEFAULT_AUTO_FIELD="django.db.models.AutoField", STATIC_URL="/static/",
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}])
django.setup()

from django.core.management import call_command  # noqa: E402
from django.test import Client  # noqa: E402

call_command("migrate", verbosity=0)
from wagtail.models import Page, PageViewRestriction, Site  # noqa: E402

Site.objects.update(hostname="www.lantern.example", port=443)
home = Site.objects.first().root_page
then = datetime.datetime(2026, 2, 28, 23, 30, tzinfo=datetime.timezone.utc)
soup = home.add_child(instance=Page(title="Soup for nine", slug="soup-for-nine"))
cafe = home.add_child(instance=Page(title="Café", slug="café"))
home.add_child(instance=Page(title="A draft", slug="a-draft", live=False))
inner = home.add_child(instance=Page(title="Members", slug="members"))
PageViewRestriction.objects.create(page=inner, restriction_type="password", password="none")
# Below a draft: is it listed?
draft = Page.objects.filter(slug="a-draft").first()
draft.add_child(instance=Page(title="Below a draft", slug="below"))
Page.objects.update(last_published_at=then, latest_revision_created_at=then)
answer = Client(headers={"host": "www.lantern.example"}).get("/sitemap.xml", secure=True)
assert answer.status_code == 200, answer.status_code
pathlib.Path("out").mkdir()
pathlib.Path("out/sitemap.xml").write_bytes(answer.content)
