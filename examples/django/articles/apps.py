from django.apps import AppConfig


class ArticlesConfig(AppConfig):
    name = "articles"

    def ready(self):
        from . import waymark  # noqa: F401  connects the signals
