// A running local stack, and documents put straight into its bucket: what `http` makes of them is what is tested.

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import readline from "node:readline";
import zlib from "node:zlib";

import { DOCUMENTS, INDEXES, SITE } from "./documents.mjs";
import { WAITS_MS, WAYMARK } from "./tools.mjs";

const HEADER = Buffer.from([0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 255, 0, 0]); // FEXTRA, empty
const BUCKET = "waymark-sitemaps";
const STARTS_WITHIN_MS = 120_000;

/** One gzip member with an extra field, as the publisher writes them: zlib's own header has ten bytes, and no field. */
const member = (xml) => Buffer.concat([HEADER, zlib.gzipSync(xml).subarray(10)]);

/** As a bucket may return it one day: a byte in the middle is another. */
function damaged(bytes) {
  bytes[bytes.length >> 1] ^= 1;
  return bytes;
}

/** A running stack with the sample site and all documents. */
export async function published() {
  const stack = await Stack.start(WAYMARK);
  const { host } = new URL(SITE);
  for (const [series, document] of Object.entries(DOCUMENTS)) await stack.publish(host, `${series}-sitemap.xml`, document);
  for (const [n, document] of Object.entries(INDEXES)) await stack.publish(host, `sitemap_index${n}.xml`, document);
  return stack;
}

export class Stack {
  static async start(waymark) {
    const stack = new Stack();
    const ports = ["--port", "0", "--dynamodb-port", "0", "--s3-port", "0"];
    stack.process = spawn(waymark, ["serve", ...ports], { stdio: ["ignore", "pipe", "inherit"] });
    const timer = setTimeout(() => stack.process.kill(), STARTS_WITHIN_MS);
    let isReady = false;
    for await (const line of readline.createInterface({ input: stack.process.stdout })) {
      const [name, value] = line.split(" ");
      if (name === "site" || name === "s3") stack[name] = value;
      isReady = name === "ready";
      if (isReady) break;
    }
    clearTimeout(timer);
    if (!isReady) throw new Error(`${waymark} does not start`);
    stack.process.stdout.resume();
    return stack;
  }

  /** Publishes a file of a site. */
  async publish(host, file, { xml, entries, isDamaged }) {
    const document = Buffer.from(xml);
    const response = await fetch(`${this.s3}/${BUCKET}/published/${host}/${file}`, {
      method: "PUT",
      headers: {
        "x-amz-meta-document-digest": createHash("sha256").update(document).digest("hex"),
        "x-amz-meta-document-changed": String(Math.trunc(Date.now() / 1000)),
        "x-amz-meta-document-bytes": String(document.length),
        "x-amz-meta-document-entries": String(entries),
        "x-amz-meta-document-stamp": "0000000000000000-1",
      },
      body: isDamaged ? damaged(member(document)) : member(document),
      signal: AbortSignal.timeout(WAITS_MS),
    });
    if (!response.ok) throw new Error(`${file}: ${response.status} ${await response.text()}`);
  }

  async end() {
    if (!this.process.kill("SIGINT")) return; // it has ended
    try {
      await once(this.process, "exit", { signal: AbortSignal.timeout(WAITS_MS) });
    } catch {
      this.process.kill("SIGKILL");
      throw new Error(`${this.process.spawnfile} serve did not end within ${WAITS_MS} ms of SIGINT, and was killed`);
    }
  }
}
