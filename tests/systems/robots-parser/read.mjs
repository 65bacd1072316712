import robotsParser from "robots-parser";

import { read } from "./reading.mjs";

await read(async (url) => robotsParser(url, await (await fetch(url)).text()).getSitemaps(), "robots.txt lines");
