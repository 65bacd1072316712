// The page of `waymark crawl --html` in Chromium.
//
//     cargo build -p waymark-crawl --example page && node --test tests/browser/crawl.mjs

import assert from "node:assert/strict";
import path from "node:path";

import { REPORTS, assertHarmless, dataOf, pageOf } from "./crawl_pages.mjs";
import { PHONE, browser, test } from "./harness.mjs";
import { SHOTS, accessibility } from "./tools.mjs";

const HOSTILE = "</script><!--<script>taken()</script>\"'><img src=x onerror=taken()>&amp;";
// So many rules look at each page at least: fewer would mean that axe has not seen it.
const TRIED = 20;

/** The page of a report, looked at by `look`; which must load nothing and say nothing it should not. */
async function viewing(name, report, options, look) {
  const context = await browser.newContext(options);
  const said = [];
  await context.addInitScript(() => addEventListener("securitypolicyviolation", (event) => console.error(`CSP: ${event.violatedDirective}`)));
  try {
    const page = await context.newPage();
    const address = pageOf(report);
    page.on("console", (message) => said.push(`${message.type()}: ${message.text()}`));
    page.on("pageerror", (error) => said.push(`${error}`));
    page.on("request", (request) => {
      if (request.url() !== address && !request.url().startsWith("data:")) said.push(`loads ${request.url()}`);
    });
    await page.goto(address);
    await look(page, said);
    await page.screenshot({ path: path.join(SHOTS, `crawl-${name}.png`) });
    assert.deepEqual(said, []);
  } finally {
    await context.close();
  }
}

const sized = (page) => page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
const table = (page, label) => page.locator(`table[aria-label="${label}"] tbody tr`).evaluateAll((rows) => rows.map((row) => [...row.cells].filter((cell) => !cell.matches(".plot")).map((cell) => cell.innerText.trim())));
const unfold = (page) => page.evaluate(() => document.querySelectorAll("details").forEach((details) => { details.open = true; }));

for (const report of REPORTS) {
  for (const [name, options] of [["desk", { viewport: { width: 1200, height: 800 } }], ["phone", PHONE]]) {
    test(`crawl: ${report} loads nothing, is no wider than a ${name}, and no text is more than text`, async () => {
      await viewing(`${report}-${name}`, report, options, async (page) => {
        await unfold(page);
        const [width, window] = await sized(page);
        assert.ok(width <= window, `${width} of ${window}`);
        await assertHarmless(page, report);
        assert.equal(await page.evaluate(() => typeof taken), "undefined");
      });
    });
  }
}

test("crawl: the tables and bars have the numbers of the data", async () => {
  await viewing("numbers", "site", {}, async (page) => {
    const data = await dataOf(page);
    const rows = await table(page, "By sitemap");
    assert.equal(rows.length, data.by_sitemap.length);
    const lasts = await page.locator('table[aria-label="By sitemap"] svg').evaluateAll((bars) => bars.map((bar) => {
      const last = bar.lastElementChild;
      return Number(last.getAttribute("x")) + Number(last.getAttribute("width"));
    }));
    for (const [at, row] of data.by_sitemap.entries()) {
      assert.ok(rows[at][0].startsWith(row.name));
      assert.equal(rows[at].at(-1), row.listed.toLocaleString("en"));
      assert.equal(rows[at].at(-2), row.never.toLocaleString("en"));
      assert.ok(Math.abs(lasts[at] - row.ever / row.listed * 1000) < 3, `${row.name}: ${lasts[at]}`);
    }
    assert.match(await page.locator("h1").innerText(), new RegExp(`^${data.total.fetched[1].toLocaleString("en")} of ${data.total.listed.toLocaleString("en")} listed pages`));
    const statuses = await table(page, "What they were answered");
    assert.equal(statuses[0][1], data.by_bot[0].statuses[0][1].toLocaleString("en"));
    const day = await page.locator('table[aria-label="Requests a day"] tr').nth(1).locator("title").last().textContent();
    assert.equal(day, `29 Nov: ${data.days.at(-1).requests[0].toLocaleString("en")}`);
  });
});

test("crawl: what the log cannot say is said", async () => {
  await viewing("short-log", "short", {}, async (page) => {
    const windows = await page.locator("#windows dd").allInnerTexts();
    assert.deepEqual(windows.slice(1), Array(3).fill("the log is too short"));
    assert.deepEqual(await page.locator('table[aria-label="By sitemap"] thead th').allInnerTexts(), ["Sitemap", "1 day", "Ever", "Never", "Listed"]);
    assert.equal(await page.locator('table[aria-label="By sitemap"] .few').count(), 12);
  });
});

test("crawl: without its script all tables are there, and no button is", async () => {
  await viewing("scriptless", "site", { javaScriptEnabled: false }, async (page) => {
    assert.equal(await page.locator("button:visible").count(), 0);
    await page.getByText("The numbers of each day").click();
    assert.ok(await page.getByRole("table", { name: "By sitemap" }).isVisible());
    assert.equal(await page.locator(".wide tbody tr:visible").count(), 94);
  });
});

test("crawl: it can be used by keyboard, and its data be copied", async () => {
  await viewing("keyboard", "site", { permissions: ["clipboard-read", "clipboard-write"] }, async (page) => {
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await ground();
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.id), "theme");
    await page.keyboard.press("Enter");
    assert.notEqual(await ground(), light);
    assert.match(await page.locator("#theme").innerText(), /Light$/);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    assert.equal(new URL(page.url()).hash, "#coverage");
    const fold = page.locator("summary").first();
    await fold.focus();
    await page.keyboard.press("Enter");
    assert.ok(await page.locator("details").first().evaluate((details) => details.open));
    await page.locator("#copy").focus();
    await page.keyboard.press("Enter");
    await page.getByText("Copied.").waitFor();
    assert.deepEqual(JSON.parse(await page.evaluate(() => navigator.clipboard.readText())), await dataOf(page));
  });
  await viewing("uncopied", "site", {}, async (page) => {
    await page.evaluate(() => { navigator.clipboard.writeText = () => Promise.reject(new Error("refused")); });
    await page.locator("#copy").click();
    assert.deepEqual(JSON.parse(await page.getByLabel("The data as JSON").inputValue()), await dataOf(page));
  });
});

test("crawl: markup in logs and sitemaps is shown as it is", async () => {
  await viewing("markup", "hostile", {}, async (page) => {
    assert.ok((await page.locator("tbody th").first().textContent()).startsWith(HOSTILE));
    assert.ok((await dataOf(page)).listing.name.startsWith(HOSTILE));
  });
});

test("crawl: the policy refuses what is not the page's own", async () => {
  await viewing("policy", "site", {}, async (page, said) => {
    await page.evaluate(() => {
      const script = document.createElement("script");
      script.textContent = "globalThis.taken = true";
      document.body.append(script);
      document.body.insertAdjacentHTML("beforeend", '<img src="https://example.com/x.png" onerror="globalThis.taken = true">');
    });
    await page.waitForFunction(() => document.images[0].complete);
    assert.equal(await page.evaluate(() => globalThis.taken), undefined);
    assert.ok(said.filter((line) => line.includes("CSP:")).length >= 2, said.join("\n"));
    said.length = 0;
  });
});

test("crawl: on paper all is unfolded, in light, and nothing is to be pressed", async () => {
  await viewing("paper", "site", { colorScheme: "dark" }, async (page) => {
    await page.emulateMedia({ media: "print" });
    assert.equal(await page.locator(":is(button, nav):visible").count(), 0);
    const pdf = await page.pdf({ path: path.join(SHOTS, "crawl.pdf") });
    assert.ok(pdf.length > 20_000);
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    assert.equal(await page.locator("details:not([open])").count(), 0);
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    assert.equal(await page.locator("details[open]").count(), 0);
  });
});

// The rows are alike, and axe needs seconds for each report: each colour and shape is looked at once.
for (const [name, reports, options] of [
  ["light", ["site", "short", "empty"], { colorScheme: "light" }],
  ["dark", ["site"], { colorScheme: "dark" }],
  ["a phone", ["site"], { ...PHONE, hasTouch: true }],
]) {
  test(`crawl: axe finds nothing: ${name}`, async () => {
    // The page's policy would refuse axe, too.
    const context = await browser.newContext({ bypassCSP: true, ...options });
    try {
      for (const report of reports) {
        const page = await context.newPage();
        await page.goto(pageOf(report));
        await unfold(page);
        const { found, tried } = await accessibility(page);
        assert.deepEqual(found, [], report);
        assert.ok(tried >= TRIED, `${report}: ${tried} rules`);
        await page.close();
      }
    } finally {
      await context.close();
    }
  });
}
