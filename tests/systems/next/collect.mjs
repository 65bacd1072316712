// Copies what Next answers at the addresses of its sitemaps and of robots.txt, as it has built them.
import { cpSync } from "node:fs";

for (const name of ["sitemap.xml", "products/sitemap/0.xml", "products/sitemap/1.xml", "robots.txt"]) {
  cpSync(`.next/server/app/${name}.body`, `out/${name}`, { recursive: true });
}
