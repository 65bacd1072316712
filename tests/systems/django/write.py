"""Writes what the site of pages.py answers at the addresses of its sitemaps into `out`."""
import pathlib

import pages  # noqa: F401
from django.test import Client

client, out = Client(headers={"host": "www.lantern.example"}), pathlib.Path("out")
out.mkdir()
for name in ["sitemap.xml", "sitemap-articles.xml", "sitemap-static.xml"]:
    answer = client.get(f"/{name}", secure=True)
    assert answer.status_code == 200, (name, answer.status_code)
    (out / name).write_bytes(answer.content)
