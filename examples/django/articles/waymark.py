"""Keeps a record of each article in Waymark's content table."""

import os

import boto3
from django.db import transaction
from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver

from .models import Article

SITE = os.environ["WAYMARK_SITE"]  # https://www.example.com
table = boto3.resource("dynamodb").Table(os.environ["WAYMARK_TABLE"])


def record_id(pk):
    return f"article/{pk}"


def record(article):
    """The content record of an article."""
    fields = {
        "id": record_id(article.pk),
        "type": "article",
        "url": SITE + article.get_absolute_url(),
        "title": article.title,
        "status": "published" if article.published_at else "draft",
        "modified_at": article.updated_at.isoformat(),
    }
    if article.published_at:
        fields["published_at"] = article.published_at.isoformat()
    return fields


def sync(pk):
    """Writes what the database says now, and looks again: a save or a deletion may have come in between."""
    written = "nothing yet"
    for _ in range(5):
        article = Article.objects.filter(pk=pk).first()
        wanted = record(article) if article else None
        if wanted == written:
            return
        if wanted:
            table.put_item(Item=wanted)
        else:
            table.delete_item(Key={"id": record_id(pk)})
        written = wanted


@receiver([post_save, post_delete], sender=Article)
def changed(instance, **_):
    # Not before the commit: until then nobody else sees the change, and it may be rolled back. With `robust` a table that cannot
    # be reached is logged, and the request goes on; the nightly load writes what was missed.
    pk = instance.pk
    transaction.on_commit(lambda: sync(pk), robust=True)
