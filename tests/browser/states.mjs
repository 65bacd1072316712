// What the view says of an index, what it says to do where there is nothing to show, copying, and paper.
//
//     WAYMARK=target/debug/waymark node --test tests/browser/states.mjs

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";

import { OTHERS, SITE } from "./documents.mjs";
import { cells, counted, links, stack, test, viewing } from "./harness.mjs";
import { SHOTS } from "./tools.mjs";

const heads = (page) => page.locator("#list th").allInnerTexts();
const kinds = (page) => page.locator("#kinds tr").evaluateAll((rows) => rows.map((row) => [...row.cells].slice(0, 3).map((cell) => cell.innerText.trim())));
const counts = (page) => page.locator("#counts").innerText();

test("an index says how many URLs its sitemaps list, by kind and in all", async () => {
  await viewing("numbers", "/sitemap_index2.xml", {}, async (page) => {
    assert.deepEqual(await heads(page), ["#", "Sitemap", "URLs", "Last change"]);
    assert.deepEqual((await cells(page, "urls")).map((text) => text.split(/\s*\n/)), [["3", "listed elsewhere, too"], ["1,200"], ["50,000"], ["49,998"], ["12", "listed elsewhere, too"]]);
    // What is listed twice counts once.
    assert.match(await counts(page), /^5 sitemaps in this index · 101,198 URLs · last change .* · 1 kB of XML$/);
    assert.deepEqual(await kinds(page), [
      ["Kind", "Sitemaps", "URLs"], ["news", "1", "3 listed elsewhere, too"], ["page", "1", "1,200"], ["post", "2", "99,998"],
      ["video", "1", "12 listed elsewhere, too"], ["All here", "5", "101,198"],
    ]);
    const times = await page.locator("#kinds time").evaluateAll((all) => all.map((time) => time.dateTime.slice(8, 10)));
    assert.deepEqual(times, ["20", "19", "18", "16", "20"], "the newest of each kind, and of all");
    assert.match(await page.locator("#note").innerText(), /listed elsewhere, too, is not in the sum/);
    await page.getByRole("button", { name: "URLs" }).click();
    assert.deepEqual((await links(page)).map((link) => link.split("-")[0]), ["/post", "/post", "/page", "/video", "/news"]);
    assert.deepEqual(await page.locator("#indexes a").evaluateAll((all) => all.map((a) => a.getAttribute("href"))), ["/sitemap_index.xml", "/sitemap_index3.xml"]);
    await page.getByRole("link", { name: "post", exact: true }).click();
    await counted(page);
    assert.deepEqual(await links(page), ["/post-sitemap.xml", "/post-sitemap2.xml"]);
  });
  await viewing("cascade", "/sitemap_index3.xml", {}, async (page) => {
    assert.match(await counts(page), /^2 sitemaps in this index · 1,000,000 URLs ·/);
    assert.ok(await page.locator("#kinds").isHidden());
  });
});

test("the sitemaps of others in an index are shown apart and lead to their own addresses", async () => {
  await viewing("others", "/sitemap_index7.xml", {}, async (page) => {
    assert.match(await counts(page), /^5 sitemaps and 2 of others in this index · 101,198 URLs ·/);
    assert.deepEqual((await links(page)).slice(5), OTHERS);
    assert.deepEqual((await cells(page, "urls")).slice(5), ["of others", "of others"]);
    assert.deepEqual((await kinds(page)).slice(-3), [["video", "1", "12 listed elsewhere, too"], ["of others", "2", ""], ["All here", "7", "101,198"]]);
  });
});

test("an index without numbers, or with those of other lines, shows what it knows and nothing false", async () => {
  for (const n of [4, 5]) {
    await viewing(`unnumbered-${n}`, `/sitemap_index${n}.xml`, {}, async (page) => {
      assert.deepEqual(await heads(page), ["#", "Sitemap", "Last change"]);
      assert.match(await counts(page), /^5 sitemaps( in this index)? · last change .* · 1 kB of XML$/);
      const [first] = await kinds(page);
      assert.deepEqual(first, ["Kind", "Sitemaps", "Last change"]);
      assert.ok(await page.locator("#note").isHidden());
    });
  }
});

/** What is said at this address: a name for the screenshot, the address, the status that the browser notes, before the page is loaded, its message and what to do. */
async function says(name, address, { status, before, isShown = !status && !before, message, advice, to }) {
  await viewing(name, "/post-sitemap.xml", {}, async (page, said) => {
    await before?.(page);
    await page.goto(stack.site + address);
    await counted(page);
    const told = page.locator(isShown ? "#list" : "#failure");
    assert.equal(await told.locator("strong").innerText(), message);
    assert.match(await told.locator("p").innerText(), advice);
    assert.deepEqual(await told.locator("a").evaluateAll((all) => all.map((a) => a.getAttribute("href"))), to);
    if (status === 404) assert.ok(await page.locator("#forms").isHidden(), "what is missing has no other form");
    if (status) assert.equal(await counts(page), "not read");
    assert.equal(await page.getByRole("alert").count(), isShown ? 0 : 1, "what has failed is read aloud");
    const errors = said.splice(0);
    if (status) assert.ok(errors.length > 0 && errors.every((error) => error.includes(`${status}`)), errors.join());
    else assert.ok(errors.every((error) => /Failed to load resource/.test(error)), errors.join());
  });
}

/** The document arrives by half, and then no more. */
const breaking = (page) => page.addInitScript(() => {
  const whole = window.fetch;
  window.fetch = async (...asked) => {
    const bytes = new Uint8Array(await (await whole(...asked)).arrayBuffer());
    return new Response(new ReadableStream({
      start(half) {
        half.enqueue(bytes.slice(0, bytes.length / 2));
        setTimeout(() => half.error(new TypeError("network error")), 50);
      },
    }));
  };
});

test("where nothing can be shown, it says what to do", async () => {
  const here = (address) => stack.site + address;
  await says("missing", "/none-sitemap.xml", { status: 404, message: "There is no such sitemap, or not any more.", advice: /^All sitemaps of this site are in its index/, to: ["/sitemap_index.xml"] });
  await says("nothing", "/nothing", { status: 404, message: "There is nothing at this address.", advice: /^Waymark publishes sitemaps here: All sitemaps/, to: ["/sitemap_index.xml"] });
  await says("missing-text", "/none-sitemap.txt", { status: 404, message: "There is no such sitemap, or not any more.", advice: /^All sitemaps/, to: ["/sitemap_index.xml"] });
  await says("missing-index", "/sitemap_index.xml", {
    status: 404, before: (page) => page.route("**/*view=xml", (route) => route.fulfill({ status: 404, body: "Not found" })),
    message: "This site has no sitemaps yet.", advice: /waymark status says how far/, to: [],
  });
  await says("damaged", "/t-damaged-sitemap.xml", { status: 503, message: "This sitemap cannot be read (503).", advice: /^Try again in a minute\. .*waymark audit --repair/, to: [here("/t-damaged-sitemap.xml")] });
  await says("cut", "/t-cut-sitemap.xml", { before: () => {}, message: "This sitemap breaks off: what is shown is not all of it.", advice: /^Read it again\. .*waymark audit --repair/, to: [here("/t-cut-sitemap.xml")] });
  await says("broken", "/t-pages-sitemap.xml", { before: breaking, message: "The connection broke: what is shown is not all of it.", advice: /^Read it again/, to: [here("/t-pages-sitemap.xml")] });
  await says("unreached", "/post-sitemap.xml", {
    before: (page) => page.route("**/*view=xml", (route) => route.abort()), message: "This sitemap cannot be reached.", advice: /online/, to: [here("/post-sitemap.xml")],
  });
  await says("empty", "/t-empty-sitemap.xml", { message: "Nothing is listed.", advice: /waymark explain says why/, to: ["/sitemap_index.xml"] });
  await says("empty-index", "/sitemap_index6.xml", { message: "No sitemap is listed.", advice: /waymark status says which/, to: [] });
});

test("what has arrived of a broken sitemap is shown", async () => {
  await viewing("rest", "/t-cut-sitemap.xml", {}, async (page) => {
    assert.deepEqual(await links(page), [`${SITE}/a/`]);
    assert.match(await counts(page), /^at least 1 URL · at least 1 kB of XML · not all of it$/);
    assert.match(await page.locator("#summary").innerText(), /^1–1 of at least 1$/);
    await page.getByLabel("Filter").fill("nowhere");
    await page.waitForFunction(() => document.getElementById("summary").textContent === "Nothing matches in what is read.");
  });
});

test("while it is read, a number is one so far", async () => {
  await viewing("slow", "/post-sitemap.xml", {}, async (page) => {
    await page.addInitScript(() => {
      const whole = window.fetch;
      window.fetch = async (...asked) => {
        const text = await (await whole(...asked)).text();
        const first = text.indexOf("</url>") + "</url>".length;
        // The page's clock says that a step is over, so it shows what it has.
        let now = 0;
        performance.now = () => (now += 1_000);
        return new Response(new ReadableStream({
          start(part) {
            part.enqueue(new TextEncoder().encode(text.slice(0, first)));
            window.goesOn = () => {
              part.enqueue(new TextEncoder().encode(text.slice(first)));
              part.close();
            };
          },
        }));
      };
    });
    await page.reload();
    await page.waitForFunction(() => /^1 URL so far · .*reading …$/.test(document.getElementById("counts").textContent));
    await page.evaluate(() => window.goesOn());
    await counted(page);
    assert.match(await counts(page), /^\d+ URLs · /);
  });
});

const FEED = `<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
<id>${SITE}/feed.atom</id>
<title>Larch</title>
<updated>2026-11-20T06:00:00+00:00</updated>
<link rel="self" type="application/atom+xml" href="${SITE}/feed.atom"/>
<author><name>Larch</name>
</author>
<entry>
<id>${SITE}/ferry/?a=1&amp;b=2</id>
<title>The ferry &lt;b&gt;is&lt;/b&gt; back</title>
<link rel="alternate" href="${SITE}/ferry/?a=1&amp;b=2"/>
<published>2026-11-19T17:30:00+00:00</published>
<updated>2026-11-20T06:00:00+00:00</updated>
<summary>And so is its bell.</summary>
</entry>
<entry>
<id>${SITE}/lamp/</id>
<title>${SITE}/lamp/</title>
<link rel="alternate" href="${SITE}/lamp/"/>
<updated>2026-11-19T06:00:00+00:00</updated>
</entry>
</feed>
`;

test("people can read the feed", async () => {
  const answers = (body) => (page) => page.route("**/feed.atom?view=xml", (route) => route.fulfill({ contentType: "application/atom+xml", body }));
  await viewing("feed", "/post-sitemap.xml", {}, async (page) => {
    await answers(FEED)(page);
    assert.equal((await page.goto(`${stack.site}/feed.atom`)).status(), 200);
    await counted(page);
    assert.equal(await page.locator("h1").innerText(), "Recent changes");
    assert.deepEqual(await heads(page), ["#", "Page", "Published", "Last change"]);
    assert.deepEqual(await links(page), [`${SITE}/ferry/?a=1&b=2`, `${SITE}/lamp/`]);
    assert.deepEqual((await page.locator("tbody td.loc > a").allInnerTexts()), ["The ferry <b>is</b> back", "/lamp/"]);
    assert.equal(await page.locator(".about").innerText(), "And so is its bell.");
    assert.match(await counts(page), /^2 changes · last change .* · 1 kB of XML$/);
    assert.match(await page.locator("#note").innerText(), /feed reader/);
    assert.deepEqual(await page.locator("#forms a").evaluateAll((all) => all.map((a) => a.getAttribute("href"))), ["?view=xml"]);
    assert.equal(await page.locator("#up").getAttribute("href"), "/sitemap_index.xml");
    await page.getByLabel("Filter").fill("bell");
    await page.waitForFunction(() => document.getElementById("summary").textContent === "1–1 of 1 that match");
  });
  await says("feed-empty", "/feed.atom", {
    before: answers(FEED.replace(/<entry>[^]*<\/entry>\n/, "")), isShown: true, message: "No page has changed lately.", advice: /^A change stays here for two days\. All sitemaps/, to: ["/sitemap_index.xml"],
  });
});

test("addresses can be copied, also by keyboard, and it is said", async () => {
  const copied = async (page, address) => {
    await page.waitForFunction((text) => document.getElementById("said").textContent === text, `Copied ${address}`);
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), address);
  };
  await viewing("copied", "/sitemap_index2.xml", { permissions: ["clipboard-read", "clipboard-write"] }, async (page) => {
    await page.getByRole("button", { name: "Copy URL" }).click();
    await copied(page, `${stack.site}/sitemap_index2.xml`);
    assert.equal(await page.getByRole("button", { name: "Copied" }).count(), 1);
    await page.getByRole("button", { name: "Copy URL" }).waitFor();
    // A sitemap's own address, also where the page's link leads to a copy of the site.
    await page.locator("tbody td.loc > a").first().focus();
    await page.keyboard.press("Tab");
    const button = page.getByRole("button", { name: `Copy ${SITE}/news-sitemap.xml` });
    assert.equal(await button.evaluate((own) => document.activeElement === own && getComputedStyle(own).opacity), "1");
    await page.keyboard.press("Enter");
    await copied(page, `${SITE}/news-sitemap.xml`);
    assert.equal(await page.getByRole("status").filter({ hasText: "Copied" }).count(), 1);
  });
  await viewing("not-copied", "/t-hostile-sitemap.xml", {}, async (page) => {
    assert.equal(await page.getByRole("button", { name: "Copy javascript" }).count(), 0);
    await page.evaluate(() => { navigator.clipboard.writeText = () => Promise.reject(new DOMException("no", "NotAllowedError")); });
    await page.getByRole("button", { name: "Copy URL" }).click();
    await page.waitForFunction(() => document.getElementById("said").textContent === "Not copied: the browser does not allow it.");
  });
});

test("on paper there is the list, in dark on white, and nothing to press", async () => {
  for (const [name, address] of [["print-index", "/sitemap_index2.xml"], ["print-pages", "/t-pages-sitemap.xml"]]) {
    await viewing(name, address, { colorScheme: "dark" }, async (page) => {
      await page.emulateMedia({ media: "print", colorScheme: "dark" });
      for (const gone of ["#theme", "#forms", "#filter", "#size", "#pager", ".copy"]) assert.equal(await page.locator(`${gone}:visible`).count(), 0, gone);
      for (const there of ["#name", "#counts", "#address", "#summary"]) assert.ok(await page.locator(there).isVisible(), there);
      assert.equal(await page.locator("#address").innerText(), stack.site + address);
      assert.equal(await page.locator("#list tbody tr:visible").count(), await page.locator("#list tbody tr").count());
      const text = await page.evaluate(() => getComputedStyle(document.body).color.match(/\d+/g).map(Number)[0]);
      assert.ok(text < 60, `the text is ${text} bright`);
      // A table with its head on each sheet, not the blocks of a narrow window.
      const displays = await page.locator("#list :is(table, thead, tbody tr)").evaluateAll((all) => [...new Set(all.map((of) => getComputedStyle(of).display))]);
      assert.deepEqual(displays.sort(), ["table", "table-header-group", "table-row"]);
      writeFileSync(path.join(SHOTS, `${name}.pdf`), await page.pdf({ format: "A4" }));
    });
  }
});
