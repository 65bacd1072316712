import reading
from usp.fetch_parse import SitemapFetcher


def read(url):
    # A page is in the sitemap of its type and nowhere else here.
    return [page.url for page in SitemapFetcher(url, recursion_level=0).sitemap().all_pages()]


reading.read(read, "robots.txt", "sitemap_index.xml", "sitemap_index.xml.gz", "post-sitemap.xml", "post-sitemap.xml.gz", "post-sitemap.txt", "post-sitemap.txt.gz", "feed.atom")
