import Parser from "rss-parser";

import { read } from "./reading.mjs";

await read(async (url) => (await new Parser().parseURL(url)).items.map((item) => item.link), "feed.atom");
