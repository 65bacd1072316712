from django.urls import include, path
from wagtail import urls
from wagtail.contrib.sitemaps.views import sitemap

urlpatterns = [path("sitemap.xml", sitemap), path("", include(urls))]
