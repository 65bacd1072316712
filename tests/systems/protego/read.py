import urllib.request

import reading
from protego import Protego


def read(url):
    with urllib.request.urlopen(url, timeout=30) as answer:
        return Protego.parse(answer.read().decode()).sitemaps


reading.read(read, "robots.txt lines")
