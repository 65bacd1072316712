import json

from articles.models import Article
from articles.waymark import record
from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = "Prints the record of each article, a line each, for waymark load"

    def handle(self, **_):
        for article in Article.objects.iterator():
            self.stdout.write(json.dumps(record(article)))
