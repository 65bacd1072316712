// A screenshot as a PNG with a palette: a third of the bytes, and of flat colours nobody sees the difference.

import { Buffer } from "node:buffer";
import { crc32, deflateSync } from "node:zlib";

const COLOURS = 256;

/** A PNG of the same pixels, each in the nearest of the colours that are most of the picture. `page` decodes it. */
export async function withPalette(page, png) {
  const { width, height, colours, pixels } = await page.evaluate(reduced, { source: `data:image/png;base64,${png.toString("base64")}`, most: COLOURS });
  const indices = Buffer.from(pixels, "base64");
  const lines = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y += 1) indices.copy(lines, y * (width + 1) + 1, y * width, (y + 1) * width);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8); // eight bits of a palette
  return Buffer.concat([
    png.subarray(0, 8), chunk("IHDR", header), chunk("PLTE", Buffer.from(colours.flat())), chunk("IDAT", deflateSync(lines, { level: 9 })), chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(type, data) {
  const named = Buffer.concat([Buffer.from(type), data]);
  const length = Buffer.alloc(4), sum = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

/** Runs in the page, so it uses nothing from outside. */
async function reduced({ source, most }) {
  const image = await createImageBitmap(await (await fetch(source)).blob());
  const { width, height } = image;
  const context = new OffscreenCanvas(width, height).getContext("2d");
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, width, height);
  const at = (pixel) => data[pixel * 4] << 16 | data[pixel * 4 + 1] << 8 | data[pixel * 4 + 2];
  const counts = new Map();
  for (let pixel = 0; pixel < width * height; pixel += 1) counts.set(at(pixel), (counts.get(at(pixel)) ?? 0) + 1);
  const colours = [...counts].sort((a, b) => b[1] - a[1]).slice(0, most).map(([colour]) => [colour >> 16, colour >> 8 & 255, colour & 255]);
  const distance = (colour, [r, g, b]) => ((colour >> 16) - r) ** 2 + ((colour >> 8 & 255) - g) ** 2 + ((colour & 255) - b) ** 2;
  const nearest = new Map([...counts.keys()].map((colour) => {
    const all = colours.map((candidate) => distance(colour, candidate));
    return [colour, all.indexOf(Math.min(...all))];
  }));
  let pixels = "";
  for (let pixel = 0; pixel < width * height; pixel += 1) pixels += String.fromCharCode(nearest.get(at(pixel)));
  return { width, height, colours, pixels: btoa(pixels) };
}
