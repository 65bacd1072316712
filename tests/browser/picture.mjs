// Draws docs/images/view.png, the view of the index of the sample site, in Chromium. `run.sh` installs what this needs.
//
//     WAYMARK=target/debug/waymark node tests/browser/picture.mjs [FILE]

import path from "node:path";

import { Stack } from "./stack.mjs";
import { ROOT, WAYMARK, chromium } from "./tools.mjs";

const FILE = process.argv[2] ?? path.join(ROOT, "docs/images/view.png");
const SIZE = { width: 1200, height: 640 };

const stack = await Stack.start(WAYMARK);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  const page = await browser.newPage({ viewport: SIZE, timezoneId: "UTC", colorScheme: "light" });
  await page.goto(`${stack.site}/sitemap_index.xml`);
  await page.locator("tbody tr").first().waitFor();
  await page.screenshot({ path: FILE });
} finally {
  await browser.close();
  await stack.end();
}
