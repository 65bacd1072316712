// What the tests in Chromium share: a running local stack with all documents, a browser, and a page in it that is watched.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { after, before, test as unlimited } from "node:test";

import { published } from "./stack.mjs";
import { SHOTS, WAITS_MS, chromium } from "./tools.mjs";

export const PHONE = { viewport: { width: 390, height: 844 } };

/** Of a test, and of what comes before and after all of them. */
export const LIMIT = { timeout: 300_000 };
export const test = (name, body) => unlimited(name, LIMIT, body);

export let stack;
export let browser;

before(async () => {
  mkdirSync(SHOTS, { recursive: true });
  stack = await published();
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
}, LIMIT);

after(async () => {
  await browser?.close();
  await stack?.end();
}, LIMIT);

/** What a client that is no browser gets: Node's fetch would send headers of its own. */
export async function crawled(address, headers = {}) {
  return new Promise((resolve, reject) => {
    http.get(stack.site + address, { headers, signal: AbortSignal.timeout(WAITS_MS) }, (response) => {
      const chunks = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("end", () => resolve({ status: response.statusCode, type: response.headers["content-type"], body: Buffer.concat(chunks) }));
      response.on("error", reject);
    }).on("error", reject);
  });
}

export const counted = (page) => page.waitForFunction(() => !/reading|^$/.test(document.getElementById("counts").textContent));
export const cells = (page, column) => page.locator(`tbody td.${column}`).allInnerTexts();
export const links = (page) => page.locator("tbody td.loc > a").evaluateAll((all) => all.map((a) => a.getAttribute("href")));
export const summary = (page) => page.locator("#summary").innerText();

/** A page at this address, its rows read, looked at by `look`; which must have loaded and said nothing it should not: what `look` leaves in the second argument. */
export async function viewing(name, address, options, look) {
  const context = await browser.newContext({ timezoneId: "UTC", ...options });
  const said = [];
  await context.addInitScript(() => {
    window.measured = { longest: 0 };
    addEventListener("securitypolicyviolation", (event) => console.error(`CSP: ${event.violatedDirective} ${event.blockedURI}`));
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) measured.longest = Math.max(measured.longest, duration);
    }).observe({ type: "longtask", buffered: true });
    new MutationObserver(() => {
      if (document.querySelector("tbody tr")) measured.rows ??= performance.now();
    }).observe(document, { childList: true, subtree: true });
  });
  try {
    const page = await context.newPage();
    page.on("console", (message) => {
      const { url } = message.location();
      // XML cannot name an icon: for the document itself a browser asks for the site's, which is no sitemap. It may answer after the page is closed.
      if (url !== `${stack.site}/favicon.ico`) said.push(`${message.type()}: ${message.text()} ${url}`);
    });
    page.on("pageerror", (error) => said.push(`${error}`));
    page.on("request", (request) => {
      if (![new URL(stack.site).host, ""].includes(new URL(request.url()).host)) said.push(`loads ${request.url()}`);
    });
    await page.goto(stack.site + address);
    if (options?.javaScriptEnabled !== false) await counted(page);
    await look(page, said);
    await page.screenshot({ path: path.join(SHOTS, `${name}.png`) });
    assert.deepEqual(said, []);
  } finally {
    await context.close();
  }
}
