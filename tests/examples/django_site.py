"""The Django app: a real Django with SQLite, whose signals write the records."""

import textwrap

from stack import HOST, ROOT, TABLE

SITE = ROOT / "examples/django"


def check(stack):
    extra = {
        "PYTHONPATH": str(SITE),
        "PYTHONDONTWRITEBYTECODE": "1",
        "DJANGO_SETTINGS_MODULE": "settings",
        "WAYMARK_SITE": f"https://{HOST}",
        "WAYMARK_TABLE": TABLE,
    }
    work = stack.folder / "django"
    work.mkdir()

    def admin(*arguments, **more):
        return stack.run(stack.tools / "django-admin", *arguments, cwd=work, extra=extra | more)

    def edit(code, **more):
        """Runs code of a view or a shell of the site's."""
        lines = "from articles.models import Article; from django.db import transaction; from django.utils import timezone\n"
        script = "import django; django.setup()\n" + lines + textwrap.dedent(code)
        return stack.run(stack.tools / "python", "-c", script, cwd=work, extra=extra | more)

    def shows(*names):
        stack.shows(*(f"/articles/{name}/" for name in names), under="/articles/")

    admin("migrate", "--run-syncdb", "--verbosity", "0")
    edit(
        """
        now = timezone.now()
        Article.objects.create(slug="soup", title="Soup for nine", published_at=now)
        Article.objects.create(slug="bread", title="Bread", published_at=now)
        Article.objects.create(slug="draft", title="A draft")
        """
    )
    shows("bread", "soup")
    assert stack.record("article/3")["status"] == "draft"
    before = stack.record("article/1")["modified_at"]

    # Changed, renamed, published, taken back; and one change that is rolled back.
    edit(
        """
        soup, bread, draft = Article.objects.order_by("pk")
        soup.title = "Soup for ten"; soup.save()
        bread.slug = "rolls"; bread.save()
        try:
            with transaction.atomic():
                draft.published_at = timezone.now(); draft.save()
                soup.delete()
                raise KeyError
        except KeyError:
            pass
        """
    )
    shows("rolls", "soup")
    soup = stack.record("article/1")
    assert soup["title"] == "Soup for ten" and soup["modified_at"] > before, soup
    assert stack.record("article/3")["status"] == "draft", "a change that was rolled back was written"

    # Deleted. Somebody else saves while a record is being written, and deletes while one is.
    edit(
        """
        Article.objects.get(slug="soup").delete()
        from articles import waymark
        put = waymark.table.put_item
        def overtaken(change):
            def put_once(**request):
                waymark.table.put_item = put
                change()
                put(**request)
            waymark.table.put_item = put_once
        rolls = Article.objects.get(slug="rolls")
        overtaken(lambda: Article.objects.filter(pk=rolls.pk).update(title="Twelve rolls"))
        rolls.save()
        lost = Article(slug="lost", title="Lost", published_at=timezone.now())
        overtaken(lambda: Article.objects.get(slug="lost").delete())
        lost.save()
        """
    )
    shows("rolls")
    assert stack.record("article/1") is None
    assert stack.record("article/2")["title"] == "Twelve rolls"
    assert stack.record("article/4") is None, "deleted while its record was being written"

    # A table that cannot be reached fails no request. What was missed, and what sends no signal, the nightly load writes.
    edit(
        """
        Article.objects.create(slug="unheard", title="Unheard", published_at=timezone.now())
        Article.objects.filter(slug="draft").update(published_at=timezone.now())
        Article.objects.filter(slug="rolls")._raw_delete("default")
        """,
        WAYMARK_TABLE="no-such-table",
    )
    shows("rolls")
    records = work / "articles.jsonl"
    records.write_text(admin("waymark_records"))
    scope = ["--if-changed", "--delete-missing", "--scope", f"type=article,site={HOST}", "--max-deletes", "1"]
    assert "loaded 2 records" in stack.load(records, *scope)
    shows("draft", "unheard")
    records.write_text("")
    stack.load(records, *scope[:-1], "2")
    shows()
