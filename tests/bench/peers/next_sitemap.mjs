// next-sitemap as its README uses it on a server: the response of a route, gzipped.
import { createReadStream, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

const [modules, content, out] = process.argv.slice(2);
// By its path: this file is elsewhere, and what the package has for `require` is no CommonJS for Node.
const { getServerSideSitemap } = await import(pathToFileURL(`${modules}/node_modules/next-sitemap/dist/esm/index.js`));

const fields = [];
for await (const line of createInterface({ input: createReadStream(content) })) {
  const record = JSON.parse(line);
  fields.push({ loc: record.url, lastmod: record.modified_at, images: record.images.map((image) => ({ loc: new URL(image.url) })) });
}
const response = await getServerSideSitemap(fields);
writeFileSync(out, gzipSync(await response.text()));
