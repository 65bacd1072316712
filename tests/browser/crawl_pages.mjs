// Pages of `waymark crawl --html`, of the reports that an example of its crate makes up.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { ROOT, SHOTS, WAITS_MS } from "./tools.mjs";

const EXAMPLE = process.env.CRAWL_PAGE ?? path.join(ROOT, "target/debug/examples/page");

/** The reports: a site, one with a short log, one with markup in each text, and nothing. */
export const REPORTS = ["site", "short", "hostile", "empty"];

/** The address of a page, as one opens it: a file. */
export function pageOf(report) {
  mkdirSync(SHOTS, { recursive: true });
  const file = path.join(SHOTS, `crawl-${report}.html`);
  writeFileSync(file, execFileSync(EXAMPLE, [report], { timeout: WAITS_MS, maxBuffer: 1 << 24 }));
  return pathToFileURL(file).href;
}

/** What a page's data say, for numbers to be held against. */
export const dataOf = (page) => page.evaluate(() => JSON.parse(document.getElementById("data").textContent));

/** That no text of others became more than text. */
export async function assertHarmless(page, message) {
  const found = await page.evaluate(() => ({
    scripts: [...document.scripts].map((script) => script.id),
    loaders: document.querySelectorAll("img, iframe, object, link:not([rel=icon]), [onerror], [style]").length,
    links: [...document.links].filter((link) => !link.getAttribute("href").startsWith("#")).length,
  }));
  assert.deepEqual(found, { scripts: ["data", ""], loaders: 0, links: 0 }, message);
}
