import { Sitemap } from "@crawlee/utils";

import { read } from "./reading.mjs";

await read(async (url) => (await Sitemap.load(url)).urls, "sitemap_index.xml", "sitemap_index.xml.gz", "post-sitemap.xml",
  "post-sitemap.xml.gz", "post-sitemap.txt", "post-sitemap.txt.gz");
