import Sitemapper from "sitemapper";

import { read } from "./reading.mjs";

await read(async (url) => (await new Sitemapper({ url, timeout: 30_000 }).fetch()).sites, "sitemap_index.xml", "sitemap_index.xml.gz",
  "post-sitemap.xml", "post-sitemap.xml.gz", "post-sitemap.txt", "post-sitemap.txt.gz");
