// What axe finds wrong with the view: contrast, names, roles, order. In both colour schemes, on a desk and on a phone.
//
//     WAYMARK=target/debug/waymark node --test tests/browser/accessibility.mjs

import assert from "node:assert/strict";

import { PHONE, browser, counted, stack, test } from "./harness.mjs";
import { accessibility } from "./tools.mjs";

const PAGES = [
  "/sitemap_index.xml", "/sitemap_index2.xml", "/t-pages-sitemap.xml?sort=-lastmod&size=50&page=2", "/t-video-sitemap.xml", "/t-news-sitemap.xml",
  "/t-empty-sitemap.xml", "/t-cut-sitemap.xml", "/none-sitemap.xml", "/feed.atom",
];
// So many rules look at each page at least: fewer would mean that axe has not seen it.
const TRIED = 20;

/** The page at this address, all of it unfolded, as axe is to see it. */
async function opened(context, address) {
  const page = await context.newPage();
  await page.goto(stack.site + address);
  await counted(page);
  for (const summary of await page.locator("td summary").all()) await summary.click();
  return page;
}

// A phone has the same colours, and rows of another shape.
const ROWS = PAGES.filter((address) => /index2|pages|video/.test(address));

for (const [name, options, pages] of [["light", { colorScheme: "light" }, PAGES], ["dark", { colorScheme: "dark" }, PAGES], ["a phone", { ...PHONE, hasTouch: true }, ROWS]]) {
  test(`axe finds nothing: ${name}`, async () => {
    // The page's policy would refuse axe, too.
    const context = await browser.newContext({ bypassCSP: true, ...options });
    try {
      for (const address of pages) {
        const page = await opened(context, address);
        const { found, tried } = await accessibility(page);
        assert.deepEqual(found, [], address);
        assert.ok(tried >= TRIED, `${address}: ${tried} rules`);
        await page.close();
      }
    } finally {
      await context.close();
    }
  });
}

test("axe finds what is wrong", async () => {
  const context = await browser.newContext({ bypassCSP: true });
  try {
    const page = await opened(context, "/sitemap_index2.xml");
    await page.evaluate(() => {
      document.getElementById("counts").style.color = "#bbb";
      document.getElementById("filter").removeAttribute("aria-label");
      document.getElementById("filter").removeAttribute("placeholder");
    });
    const { found } = await accessibility(page);
    assert.deepEqual([...new Set(found.map((line) => line.split(":")[0]))].sort(), ["color-contrast", "label"]);
  } finally {
    await context.close();
  }
});
