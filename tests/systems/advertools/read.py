import advertools
import reading

reading.read(lambda url: advertools.sitemap_to_df(url)["loc"].tolist(), "robots.txt", "sitemap_index.xml", "sitemap_index.xml.gz", "post-sitemap.xml", "post-sitemap.xml.gz", "post-sitemap.txt", "post-sitemap.txt.gz")
