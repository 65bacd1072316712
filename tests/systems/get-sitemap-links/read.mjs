import module from "get-sitemap-links";

import { read } from "./reading.mjs";

await read(module.default ?? module, "sitemap_index.xml", "sitemap_index.xml.gz", "post-sitemap.xml", "post-sitemap.xml.gz", "post-sitemap.txt", "post-sitemap.txt.gz");
