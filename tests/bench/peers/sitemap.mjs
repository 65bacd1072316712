// sitemap.js as its README uses it: a stream of links, gzipped.
import { createReadStream, createWriteStream } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";

const [modules, content, out] = process.argv.slice(2);
const { SitemapStream } = createRequire(`${modules}/`)("sitemap");

async function* links() {
  for await (const line of createInterface({ input: createReadStream(content) })) {
    const record = JSON.parse(line);
    yield { url: record.url, lastmod: record.modified_at, img: record.images.map((image) => ({ url: image.url })) };
  }
}

const stream = new SitemapStream({ hostname: "https://www.example.com/" });
await pipeline(Readable.from(links()), stream, createGzip(), createWriteStream(out));
