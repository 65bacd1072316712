"""Just enough of a project to run the app `articles`."""

SECRET_KEY = "only this example's"
INSTALLED_APPS = ["articles"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "articles.sqlite3"}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True  # times are in UTC, as the records want them
