// The view in Firefox: what must hold in any browser, without the measurements of `view.mjs`.
//
//     WAYMARK=target/debug/waymark node --test tests/browser/firefox.mjs

import assert from "node:assert/strict";
import path from "node:path";
import { after } from "node:test";

import { assertHarmless, dataOf, pageOf } from "./crawl_pages.mjs";
import { MARKUP, PAGES, SITE } from "./documents.mjs";
import { LIMIT, stack, test } from "./harness.mjs";
import { SHOTS, WAITS_MS, accessibility, puppeteer } from "./tools.mjs";

const FIREFOX = process.env.FIREFOX ?? "/usr/bin/firefox-esr";
const STARTS_WITHIN_MS = 60_000;

/** Of its colour scheme Firefox can be told by a preference alone, so there is one of each, from when it is needed. */
const browsers = {};
function firefox(scheme) {
  const extraPrefsFirefox = { "ui.systemUsesDarkTheme": scheme === "dark" ? 1 : 0 };
  return browsers[scheme] ??= puppeteer.launch({ browser: "firefox", executablePath: FIREFOX, headless: true, timeout: STARTS_WITHIN_MS, extraPrefsFirefox });
}

after(async () => {
  for (const browser of Object.values(browsers)) await (await browser).close();
}, LIMIT);

/** The view at this address, looked at by `look`; nothing may go wrong on the page meanwhile. */
async function viewing(name, address, look, scheme = "light") {
  const page = await (await firefox(scheme)).newPage();
  page.setDefaultTimeout(WAITS_MS);
  const said = [];
  page.on("console", (message) => said.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => said.push(`${error}`));
  await page.setViewport({ width: 1200, height: 800 });
  try {
    const response = await page.goto(stack.site + address);
    await counted(page);
    await look(page, response);
    await page.screenshot({ path: path.join(SHOTS, `firefox-${name}.png`) });
    assert.deepEqual(said, []);
  } finally {
    await page.close();
  }
}

const counted = (page) => page.waitForFunction(() => !/reading|^$/.test(document.getElementById("counts").textContent));
const text = (page, selector) => page.$eval(selector, (element) => element.innerText);
const links = (page) => page.$$eval("tbody td.loc > a", (all) => all.map((a) => a.getAttribute("href")));
const shows = (page, range) => page.waitForFunction((range) => document.getElementById("summary").textContent === range, {}, range);

test("an index leads to its sitemaps, and says how many URLs they list", async () => {
  await viewing("index", "/sitemap_index.xml", async (page) => {
    const listed = await links(page);
    const shown = await page.$$eval("td.urls", (all) => all.map((cell) => Number.parseInt(cell.innerText)));
    assert.ok(listed.length >= 5);
    for (const [at, sitemap] of listed.entries()) {
      await page.goto(stack.site + sitemap);
      await counted(page);
      assert.match(await text(page, "#counts"), new RegExp(`^${shown[at]} URL`), sitemap);
    }
  });
  await viewing("numbers", "/sitemap_index2.xml", async (page) => {
    assert.match(await text(page, "#counts"), /^5 sitemaps in this index · 101,198 URLs/);
    assert.equal((await page.$$("#kinds tbody tr")).length, 4);
  });
});

test("50,000 pages can be filtered, sorted and paged, and the address leads back", async () => {
  await viewing("bulk", "/t-bulk-sitemap.xml", async (page) => {
    assert.match(await text(page, "#counts"), /^50,000 URLs · 25,000 images/);
    await page.type("#filter", "heron");
    await shows(page, "1–100 of 500 that match");
    await page.click('[data-sort="lastmod"]');
    await page.click('[data-sort="lastmod"]');
    assert.equal(new URL(page.url()).search, "?q=heron&sort=lastmod");
    assert.deepEqual((await links(page))[0], `${SITE}/archive/2026/heron-and-what-came-of-it-${PAGES}/`);
    await page.click('#pager [rel="next"]');
    await shows(page, "101–200 of 500 that match");
    await page.reload();
    await counted(page);
    await shows(page, "101–200 of 500 that match");
    await page.goBack();
    await shows(page, "1–100 of 500 that match");
  });
});

test("what is written like markup is text, and no other address is a link", async () => {
  await viewing("hostile", "/t-hostile-sitemap.xml", async (page) => {
    assert.equal(await text(page, "td.loc > a"), MARKUP);
    assert.deepEqual([...new Set(await page.$$eval("a", (all) => all.map((a) => a.protocol)))].sort(), ["http:", "https:"]);
    assert.doesNotMatch(await page.title(), /taken/);
  });
});

test("it can be used by keyboard, and copies addresses", async () => {
  await viewing("keyboard", "/t-pages-sitemap.xml", async (page) => {
    await page.keyboard.press("/");
    assert.equal(await page.evaluate(() => document.activeElement.id), "filter");
    await page.focus('[data-sort="priority"]');
    for (const order of ["descending", "ascending", "none"]) {
      await page.keyboard.press("Enter");
      assert.equal(await page.$eval("th.priority", (head) => head.getAttribute("aria-sort")), order);
      assert.equal(await page.evaluate(() => document.activeElement.dataset.sort), "priority");
    }
    await page.focus("td.loc .copy");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => /^Copied https:/.test(document.getElementById("said").textContent));
  });
});

test("where nothing can be shown, it says what to do", async () => {
  for (const [address, status, where, message] of [
    ["/none-sitemap.xml", 404, "#failure", "There is no such sitemap, or not any more."],
    ["/t-damaged-sitemap.xml", 200, "#failure", "This sitemap cannot be read (503)."],
    ["/t-cut-sitemap.xml", 200, "#failure", "This sitemap breaks off: what is shown is not all of it."],
    ["/t-empty-sitemap.xml", 200, "#list", "Nothing is listed."],
  ]) {
    await viewing(`state-${message.length}`, address, async (page, response) => {
      assert.equal(response.status(), status);
      assert.equal(await text(page, `${where} strong`), message);
      assert.ok((await text(page, `${where} p`)).length > 20);
    });
  }
});

test("the XML is shown by the browser itself, as a list", async () => {
  const page = await (await firefox("light")).newPage();
  await page.goto(`${stack.site}/post-sitemap.xml?view=xml`);
  assert.equal(await page.evaluate(() => getComputedStyle(document.querySelector("url")).display), "grid");
  await page.close();
});

for (const scheme of ["light", "dark"]) {
  test(`axe finds nothing: ${scheme}`, async () => {
    for (const address of ["/sitemap_index2.xml", "/t-news-sitemap.xml", "/none-sitemap.xml"]) {
      await viewing(`axe-${scheme}`, address, async (page) => {
        const ground = await page.evaluate(() => Number(getComputedStyle(document.body).backgroundColor.match(/\d+/)[0]));
        assert.equal(ground < 60, scheme === "dark");
        const { found, tried } = await accessibility(page);
        assert.deepEqual(found, [], address);
        assert.ok(tried >= 20, `${tried} rules`);
      }, scheme);
    }
  });
}

for (const scheme of ["light", "dark"]) {
  test(`crawl: no text is more than text, and axe finds nothing: ${scheme}`, async () => {
    const page = await (await firefox(scheme)).newPage();
    const said = [];
    page.on("console", (message) => said.push(`${message.type()}: ${message.text()}`));
    page.on("pageerror", (error) => said.push(`${error}`));
    for (const report of scheme === "light" ? ["site", "hostile"] : ["short"]) {
      await page.goto(pageOf(report));
      const ground = await page.evaluate(() => Number(getComputedStyle(document.body).backgroundColor.match(/\d+/)[0]));
      assert.equal(ground < 60, scheme === "dark");
      await assertHarmless(page, report);
      const { found, tried } = await accessibility(page);
      assert.deepEqual(found, [], report);
      assert.ok(tried >= 20, `${report}: ${tried} rules`);
    }
    assert.deepEqual(said, []);
    await page.close();
  });
}

test("crawl: its colours can be chosen and its data be copied", async () => {
  const page = await (await firefox("light")).newPage();
  await page.goto(pageOf("site"));
  await page.click("#theme");
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  await page.focus("#copy");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.getElementById("said")?.textContent === "Copied." || document.querySelector("textarea"));
  assert.equal((await dataOf(page)).listing.sitemaps, 12);
  await page.screenshot({ path: path.join(SHOTS, "firefox-crawl.png") });
  await page.close();
});
