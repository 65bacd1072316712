// What `run.sh` has installed, and where.

import { createRequire } from "node:module";
import path from "node:path";

export const ROOT = path.resolve(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), "../..");
export const SHOTS = path.join(ROOT, "target/browser");
export const WAYMARK = process.env.WAYMARK ?? path.join(ROOT, "target/debug/waymark");

/** Of a single wait: longer than it takes on a busy machine. */
export const WAITS_MS = 60_000;

const required = createRequire(path.join(ROOT, "target/tools/browser/"));
export const { chromium } = required("playwright-core");
const { source: AXE } = required("axe-core");

/** What starts Firefox: Playwright's own protocol needs a Firefox of its own, and WebDriver BiDi is what Debian's speaks. */
export const { default: puppeteer } = await import(required.resolve("puppeteer-core"));

// Everything that axe knows of WCAG 2.2 up to AA, and what it calls best practice.
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** What axe finds wrong with a page, of either library, and how many rules it has tried. */
export async function accessibility(page) {
  await page.evaluate(AXE);
  const { violations, passes } = await page.evaluate((rules) => axe.run(document, { runOnly: rules }), RULES);
  const found = violations.flatMap(({ id, help, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${help}: ${target}: ${failureSummary}`));
  return { found, tried: passes.length };
}
