// What every mapper of JavaScript is given to write: the pages of content.json, and values of one kind each.
import { readFileSync } from "node:fs";

const TIMES = ["modified", "expires"];
// JavaScript has no type for a day. `absent` is undefined.
export const VALUES = {
  absent: undefined, instant: new Date("2026-03-01T10:20:30.500Z"), yes: true, no: false, nothing: null, blank: "",
  words: new Set(["a", "b"]), no_words: new Set(), steps: ["a", "b"], share: 0.8, count: 42, nested: { title: "Soup" },
};
export const ENDPOINT = process.env.AWS_ENDPOINT_URL_DYNAMODB;
export const PAGES = "magazine";
export const PROBES = "values";

// The pages, with times as such.
export function pages() {
  return JSON.parse(readFileSync("content.json", "utf8")).pages.map((page) => {
    const times = TIMES.filter((name) => name in page).map((name) => [name, new Date(page[name])]);
    return { ...page, ...Object.fromEntries(times) };
  });
}

// Writes an item for each kind: `write(id, attributes)`. Prints those that are refused, and those that the mapper has no type for.
export async function probe(write, without = []) {
  const refused = Object.fromEntries([...without, "day"].map((kind) => [kind, "no type"]));
  for (const [kind, value] of Object.entries(VALUES)) {
    if (without.includes(kind)) continue;
    try {
      await write(kind, { [kind]: value });
    } catch (error) {
      refused[kind] = `refused: ${error.name}`;
    }
  }
  console.log(JSON.stringify(refused));
}
