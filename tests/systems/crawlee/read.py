import asyncio

import reading
from crawlee.http_clients import ImpitHttpClient
from crawlee.request_loaders import SitemapRequestLoader


async def addresses(url):
    found = []
    async with ImpitHttpClient() as client:
        loader = SitemapRequestLoader([url], http_client=client)
        while not await loader.is_finished():
            if request := await loader.fetch_next_request():
                found.append(request.url)
                await loader.mark_request_as_handled(request)
    return found


reading.read(lambda url: asyncio.run(asyncio.wait_for(addresses(url), 60)), "sitemap_index.xml", "sitemap_index.xml.gz", "post-sitemap.xml", "post-sitemap.xml.gz", "post-sitemap.txt", "post-sitemap.txt.gz")
