// The view for people in a real browser, against a running local stack. `run.sh` installs what this needs.
//
//     WAYMARK=target/debug/waymark node --test tests/browser/view.mjs

import assert from "node:assert/strict";

import { DOCUMENTS, MARKUP, PAGES, SITE } from "./documents.mjs";
import { PHONE, browser, cells, counted, crawled, links, stack, summary, test, viewing } from "./harness.mjs";

// What people are promised is 2 s and no freeze; a machine that builds at the same time is given four times as much.
const FIRST_ROWS_MS = 4 * 2_000;
const LONGEST_TASK_MS = 4 * 200;
const BULK = "/t-bulk-sitemap.xml";

test("the index leads to a view of each of its sitemaps, and each back", async () => {
  const { body } = await crawled("/sitemap_index.xml");
  const listed = [...body.toString().matchAll(/<loc>(.*?)<\/loc>/g)].map(([, loc]) => new URL(loc).pathname);
  assert.ok(listed.length >= 5);
  await viewing("index", "/sitemap_index.xml", {}, async (page) => {
    assert.deepEqual(await links(page), listed);
    assert.equal(await page.locator("h1").innerText(), new URL(SITE).host);
    const shown = await cells(page, "urls");
    for (const [at, sitemap] of listed.entries()) {
      await page.locator("tbody td.loc > a").nth(at).click();
      await counted(page);
      assert.equal(new URL(page.url()).pathname, sitemap);
      const locs = [...(await crawled(sitemap)).body.toString().matchAll(/<loc>(.*?)<\/loc>/g)].map(([, loc]) => loc.replaceAll("&amp;", "&").replaceAll("&apos;", "'"));
      assert.deepEqual(await links(page), locs.slice(0, 100), sitemap);
      assert.equal(Number.parseInt(shown[at]), locs.length, `${sitemap}: ${shown[at]}`);
      await page.getByRole("link", { name: "All sitemaps" }).click();
      await counted(page);
    }
    assert.deepEqual(await links(page), listed);
  });
});

test("crawlers get the document that the page fetches, whatever they accept", async () => {
  const accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
  for (const address of ["/sitemap_index.xml", "/post-sitemap.xml", "/t-video-sitemap.xml", "/t-news-sitemap.xml", BULK]) {
    const context = await browser.newContext();
    const page = await context.newPage();
    const fetched = page.waitForResponse((response) => response.request().resourceType() === "fetch");
    const opened = await page.goto(stack.site + address);
    assert.match(opened.headers()["content-type"], /^text\/html/);
    const shown = await (await fetched).body();
    for (const headers of [{ accept }, { accept, "sec-fetch-dest": "document", "user-agent": "Googlebot/2.1" }]) {
      const { type, body } = await crawled(address, headers);
      assert.match(type, /^application\/xml/, address);
      assert.ok(body.equals(shown), `${address} is another document`);
    }
    await context.close();
  }
});

test("a page's row has its link, times, images and languages", async () => {
  await viewing("pages", "/t-pages-sitemap.xml", {}, async (page) => {
    assert.deepEqual(await page.locator("th").allInnerTexts(), ["#", "Page", "Last change", "Images", "Languages", "Changes", "Priority"]);
    const row = page.locator("tbody tr").nth(3);
    assert.equal(await row.locator("td.loc a").innerText(), "/tales/grüße-aus-dem-süden-4/");
    assert.equal(await row.locator("td.loc a").getAttribute("href"), `${SITE}/tales/gr%C3%BC%C3%9Fe-aus-dem-s%C3%BCden-4/`);
    assert.equal(await row.locator("td.loc a").getAttribute("rel"), "noopener noreferrer");
    assert.match(await row.locator("time").innerText(), /^[a-z0-9 ]+\s+19 Nov 2026, 20:26$/);
    assert.equal(await row.locator("time").getAttribute("datetime"), "2026-11-19T20:26:40+00:00");
    await row.locator("summary").click();
    await row.locator("td.images a").nth(3).waitFor();
    assert.equal(await row.locator("td.images a").count(), 4);
    const languages = page.locator("tbody tr").nth(2).locator("td.languages a");
    assert.deepEqual(await languages.allInnerTexts(), ["en", "de", "pt-BR", "x-default"]);
    assert.equal(await languages.nth(1).getAttribute("hreflang"), "de");
    for (const order of ["descending", "ascending"]) {
      await page.getByRole("button", { name: "Last change" }).click();
      assert.equal(await page.locator(`th.lastmod[aria-sort="${order}"]`).count(), 1);
      const times = await page.locator("tbody td.lastmod").evaluateAll((all) => all.map((td) => Date.parse(td.firstChild?.dateTime)));
      const known = times.filter((time) => !Number.isNaN(time));
      assert.deepEqual(times.slice(0, 52), known, "what has no time comes last");
      assert.deepEqual(known, known.toSorted((a, b) => order === "ascending" ? a - b : b - a));
    }
    assert.match(await page.locator("#counts").innerText(), /^60 URLs · 120 images · last change .* · 31 kB of XML$/);
  });
});

test("videos and news are shown with what makes them so", async () => {
  await viewing("video", "/t-video-sitemap.xml", {}, async (page) => {
    assert.deepEqual(await cells(page, "videos"), ["2", "1", "5"]);
    const first = page.locator("tbody tr").first();
    assert.match(await first.innerText(), /How to trim a wick, part 1 1:05 · 2 Oct 2026/);
    assert.match(await first.innerText(), /part 2 2:03:04/);
    await page.locator("tbody summary").click();
    const folded = page.locator("tbody tr").nth(2).locator(".video");
    await folded.nth(4).waitFor();
    assert.equal(await folded.count(), 5);
    await page.getByLabel("Filter").fill("PART 3");
    await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
    assert.deepEqual(await links(page), [`${SITE}/live/`]);
  });
  await viewing("news", "/t-news-sitemap.xml", {}, async (page) => {
    const titles = await page.locator("td.loc > a").allInnerTexts();
    assert.deepEqual(titles, ["First snow above 900 metres", "The ferry is back, and so is its bell", "Die Fähre fährt wieder"]);
    assert.deepEqual((await cells(page, "publication")).map((text) => text.split(/\s*\n/)), [["Lantern & Larch", "en"], ["Lantern & Larch", "en"], ["Lantern & Larch", "de"]]);
    await page.getByRole("button", { name: "Published" }).click();
    assert.deepEqual(await page.locator("td.loc > a").allInnerTexts(), [titles[0], titles[2], titles[1]]);
  });
});

test("what is written like markup is text, and no other address is a link", async () => {
  await viewing("hostile", "/t-hostile-sitemap.xml", {}, async (page) => {
    assert.equal(await page.locator("td.loc > a").first().innerText(), MARKUP);
    assert.equal(await page.locator("td.loc > span").first().innerText(), "javascript:document.title='taken'");
    assert.equal(await page.locator(".video > span").first().innerText(), MARKUP);
    assert.equal(await page.locator("td.languages").nth(2).innerText(), MARKUP);
    assert.equal(await page.locator("td.loc > a").nth(1).innerText(), "/%E2%80%AEgpj.exe", "a text that turns around stays encoded");
    const hrefs = await page.locator("a").evaluateAll((all) => all.map((a) => a.protocol));
    assert.deepEqual([...new Set(hrefs)].sort(), ["http:", "https:"]);
    assert.equal(await page.locator("main :is(img, script, b, i)").count(), 0);
    assert.doesNotMatch(await page.title(), /taken/);
  });
});

test("what the page may not do, the browser refuses", async () => {
  await viewing("refused", "/post-sitemap.xml", {}, async (page, said) => {
    const refused = (what) => page.waitForEvent("console", (message) => message.text().includes(`CSP: ${what}`));
    const [image, markup] = [refused("img-src"), refused("require-trusted-types-for")];
    await page.evaluate(() => {
      document.body.append(Object.assign(document.createElement("style"), { textContent: "body { color: red }" }));
      document.body.append(Object.assign(document.createElement("img"), { src: "https://images.larch-cdn.example/a.jpg" }));
    });
    await image;
    assert.match(said.join(), /CSP: style-src-elem inline/);
    await assert.rejects(page.evaluate(() => { document.body.innerHTML = "<b>markup</b>"; }), /TrustedHTML/);
    await markup;
    said.length = 0;
  });
});

test("50,000 pages are there soon, and nothing freezes", async (t) => {
  await viewing("bulk", BULK, {}, async (page) => {
    assert.match(await page.locator("#counts").innerText(), /^50,000 URLs · 25,000 images/);
    const total = Math.round(await page.evaluate(() => performance.now()));
    const { rows, longest } = await page.evaluate(() => measured);
    t.diagnostic(`first rows ${Math.round(rows)} ms, all read ${total} ms, longest task ${Math.round(longest)} ms`);
    assert.ok(rows < FIRST_ROWS_MS, `first rows after ${rows} ms`);
    assert.ok(longest < LONGEST_TASK_MS, `a task of ${longest} ms`);
    await page.evaluate(() => { measured.longest = 0; });
    await page.getByRole("button", { name: "Page", exact: true }).click();
    await page.getByRole("button", { name: "Last change" }).click();
    await page.getByLabel("Filter").fill("heron");
    await page.waitForFunction(() => /of 500 that match/.test(document.getElementById("summary").textContent));
    const after = await page.evaluate(() => measured.longest);
    t.diagnostic(`sorting and filtering: longest task ${Math.round(after)} ms`);
    assert.ok(after < LONGEST_TASK_MS, `a task of ${after} ms`);
  });
});

test("filter, order and page are in the address: back, reload and a sent link lead to them", async () => {
  const at = (n) => `${SITE}/archive/2026/${n % 100 === 0 ? "heron" : "a-walk-in-the-rain"}-and-what-came-of-it-${n}/`;
  await viewing("paging", BULK, {}, async (page) => {
    const shows = async (first, range, search) => {
      await page.waitForFunction((range) => document.getElementById("summary").textContent === range, range);
      assert.equal((await links(page))[0], first);
      assert.equal(new URL(page.url()).search, search);
    };
    await shows(at(1), "1–100 of 50,000", "");
    await page.getByRole("link", { name: "Next →" }).click();
    await shows(at(101), "101–200 of 50,000", "?page=2");
    assert.equal(await page.evaluate(() => document.activeElement.id), "summary");
    await page.getByRole("link", { name: "Page 500", exact: true }).click();
    await shows(at(49_901), "49,901–50,000 of 50,000", "?page=500");
    await page.getByRole("button", { name: "Last change" }).click();
    await shows(at(1), "1–100 of 50,000", "?sort=-lastmod");
    await page.getByRole("button", { name: "Last change" }).click();
    await shows(at(50_000), "1–100 of 50,000", "?sort=lastmod");
    assert.equal(await page.locator('th[aria-sort="ascending"]').innerText(), "Last change ↑");
    await page.getByLabel("Filter").fill("HER");
    await shows(at(50_000), "1–100 of 500 that match", "?q=HER&sort=lastmod");
    await page.getByLabel("Filter").fill("HERON");
    await page.waitForURL(/q=HERON/);
    await shows(at(50_000), "1–100 of 500 that match", "?q=HERON&sort=lastmod");
    await page.getByLabel("Rows").selectOption("250");
    await page.getByRole("link", { name: "Next →" }).click();
    await shows(at(25_000), "251–500 of 500 that match", "?q=HERON&sort=lastmod&size=250&page=2");
    await page.reload();
    await counted(page);
    await shows(at(25_000), "251–500 of 500 that match", "?q=HERON&sort=lastmod&size=250&page=2");
    assert.equal(await page.getByLabel("Filter").inputValue(), "HERON");
    await page.goBack();
    await shows(at(50_000), "1–250 of 500 that match", "?q=HERON&sort=lastmod&size=250");
    await page.goBack();
    await page.goBack();
    await shows(at(50_000), "1–100 of 50,000", "?sort=lastmod");
    assert.equal(await page.getByLabel("Filter").inputValue(), "");
    await page.goForward();
    await shows(at(50_000), "1–100 of 500 that match", "?q=HERON&sort=lastmod");
    await page.goto(`${stack.site}${BULK}?page=7&sort=-loc&q=rain&size=50`);
    await counted(page);
    assert.match(await summary(page), /^301–350 of 49,500 that match$/);
    await page.goto(`${stack.site}${BULK}?page=-7&sort=x&size=7&q=%3Cb%3E`);
    await counted(page);
    assert.equal(await summary(page), "Nothing matches.");
    await page.goto(`${stack.site}${BULK}?page=9999999`);
    await counted(page);
    assert.equal(await summary(page), "49,901–50,000 of 50,000");
  });
});

test("it can be used by keyboard, and read aloud", async () => {
  await viewing("keyboard", "/t-pages-sitemap.xml", {}, async (page) => {
    assert.equal(await page.getByRole("table", { name: "Pages" }).count(), 1);
    assert.equal(await page.getByRole("row").count(), 61);
    assert.equal(await page.getByRole("columnheader").count(), 7);
    assert.ok(await page.getByLabel("Sort").isHidden(), "the heads sort");
    await page.keyboard.press("/");
    assert.equal(await page.evaluate(() => document.activeElement.id), "filter");
    const header = page.getByRole("columnheader", { name: "Priority" });
    await header.getByRole("button").focus();
    for (const order of ["descending", "ascending", "none"]) {
      await page.keyboard.press("Enter");
      assert.equal(await header.getAttribute("aria-sort"), order);
      assert.equal(await page.evaluate(() => document.activeElement.dataset.sort), "priority", "the focus stays");
    }
  });
});

test("a phone shows a row as a block, without a head, and sorts by a list", async () => {
  await viewing("phone", "/t-pages-sitemap.xml", PHONE, async (page) => {
    assert.equal(await page.getByRole("table", { name: "Pages" }).count(), 1);
    assert.equal(await page.getByRole("row").count(), 60);
    assert.ok(await page.locator("#list thead").isHidden());
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(overflow <= 0, `${overflow} pixels stick out`);
    const listed = await links(page);
    const orders = await page.getByLabel("Sort").locator("option").allInnerTexts();
    assert.deepEqual(orders.slice(0, 5), ["as listed", "Page ↑", "Page ↓", "Last change ↓", "Last change ↑"]);
    await page.getByLabel("Sort").selectOption("Priority ↓");
    assert.equal(new URL(page.url()).search, "?sort=-priority");
    const priorities = await cells(page, "priority");
    assert.deepEqual(priorities, priorities.toSorted().reverse());
    await page.getByLabel("Sort").selectOption("as listed");
    assert.deepEqual(await links(page), listed);
  });
});

test("dark is the system's choice, until somebody chooses", async () => {
  const ground = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number)[0]);
  await viewing("dark", "/t-pages-sitemap.xml", { colorScheme: "dark" }, async (page) => {
    assert.ok(await ground(page) < 60);
    await page.getByRole("button", { name: "Dark", pressed: true }).click();
    assert.ok(await ground(page) > 200);
    await page.reload();
    await counted(page);
    assert.ok(await ground(page) > 200, "it is remembered");
    await page.getByRole("button", { name: "Dark", pressed: false }).click();
    assert.ok(await ground(page) < 60);
  });
  await viewing("light", "/t-pages-sitemap.xml", { colorScheme: "light" }, async (page) => assert.ok(await ground(page) > 200));
});

test("a missing sitemap is missing for people too", async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  assert.equal((await crawled("/none-sitemap.xml")).body.toString(), "Not found\n");
  for (const address of ["/none-sitemap.xml", "/post-sitemap99.xml", "/sitemap_index99.xml", "/none-sitemap.txt", "/nothing"]) {
    assert.equal((await page.goto(stack.site + address)).status(), 404, address);
  }
  await context.close();
});

test("the XML can be seen: by its link, without JavaScript, and as a list", async () => {
  for (const javaScriptEnabled of [true, false]) {
    await viewing(`xml-${javaScriptEnabled}`, "/post-sitemap.xml", { javaScriptEnabled }, async (page) => {
      if (!javaScriptEnabled) assert.ok(await page.getByText("The table needs JavaScript.").isVisible());
      const navigated = page.waitForResponse((response) => response.request().isNavigationRequest());
      await page.locator('a[href="?view=xml"]:visible').first().click();
      const response = await navigated;
      assert.match(response.headers()["content-type"], /^application\/xml/);
      await page.waitForLoadState();
      if (javaScriptEnabled) {
        const display = await page.evaluate(() => getComputedStyle(document.querySelector("url")).display);
        assert.equal(display, "grid", "its style sheet makes a list of it");
      }
    });
  }
  await viewing("forms", "/post-sitemap.xml", {}, async (page) => {
    const forms = await page.locator("#forms a").evaluateAll((all) => all.map((a) => a.getAttribute("href")));
    assert.deepEqual(forms, ["?view=xml", "/post-sitemap.xml.gz", "/post-sitemap.txt", "/feed.atom"]);
    for (const form of forms.slice(1)) assert.equal((await crawled(form)).status, 200, form);
  });
});

test("everything is read of any document, however it arrives", async () => {
  assert.equal(DOCUMENTS["t-bulk"].entries, PAGES);
  await viewing("last", `${BULK}?page=50&size=1000`, {}, async (page) => {
    const shown = await links(page);
    assert.equal(shown.length, 1_000);
    assert.equal(shown.at(-1), `${SITE}/archive/2026/heron-and-what-came-of-it-${PAGES}/`);
    assert.equal(await page.locator("tbody td.n").last().innerText(), "50,000");
  });
});
