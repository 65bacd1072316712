// Draws the pictures of the book in Chromium. `run.sh` installs what this needs.
//
//     WAYMARK=target/debug/waymark node tests/browser/picture.mjs [view | crawl]
//
// `view` is the view of the index of the sample site, and `crawl` the page of a report that an example makes up. [both]

import { writeFileSync } from "node:fs";
import path from "node:path";

import { pageOf } from "./crawl_pages.mjs";
import { withPalette } from "./palette.mjs";
import { Stack } from "./stack.mjs";
import { ROOT, WAYMARK, chromium } from "./tools.mjs";

const wanted = process.argv[2];
const fileOf = (name) => path.join(ROOT, `docs/images/${name}.png`);

async function view(browser) {
  const stack = await Stack.start(WAYMARK);
  try {
    const page = await browser.newPage({ viewport: { width: 1200, height: 640 }, timezoneId: "UTC", colorScheme: "light" });
    await page.goto(`${stack.site}/sitemap_index.xml`);
    await page.locator("tbody tr").first().waitFor();
    await page.screenshot({ path: fileOf("view") });
  } finally {
    await stack.end();
  }
}

/** From the top to the end of the first table. */
async function crawl(browser) {
  const page = await browser.newPage({ viewport: { width: 1200, height: 800 }, colorScheme: "light" });
  await page.goto(pageOf("site"));
  const { y, height } = await page.locator("table").first().boundingBox();
  const png = await page.screenshot({ fullPage: true, clip: { x: 0, y: 0, width: 1200, height: Math.ceil(y + height) + 32 } });
  writeFileSync(fileOf("crawl"), await withPalette(await browser.newPage(), png));
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  for (const [name, draw] of Object.entries({ view, crawl })) {
    if (wanted === undefined || wanted === name) await draw(browser);
  }
} finally {
  await browser.close();
}
