// The view for people: fetches its own path as XML, which is the document that crawlers get, and shows it as a table.
//
// - The document is read as it arrives and in short steps: the first rows are there before the last, and nothing freezes.
// - What it says is shown as text, never as markup; only http and https addresses become links; nothing is loaded from them.
// - Filter, sorting and page are in this page's address, so that back, reload and a sent link work.

// What the publisher writes: fixed prefixes, `>` escaped also in attributes, no comments and no CDATA.
const ENTRY = /<(url|sitemap)>([^]*?)<\/\1>/g;
const TAG = /<([\w:]+)([^>]*)>([^<]*)/g;
const END = /<\/(urlset|sitemapindex)>\s*$|<(urlset|sitemapindex)\b[^>]*\/>\s*$/;
const PLAIN = new Set(["loc", "lastmod", "changefreq", "priority"]);
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

// Work is interrupted after so many milliseconds: half of what makes a frame late at 30 a second.
const STEP_MS = 16;
const SIZES = [50, 100, 250, 1000];
const DEFAULT_SIZE = 100;
const SHOWN_VIDEOS = 3;
const INDEX_PATH = "/sitemap_index.xml";

const $ = (id) => document.getElementById(id);
const number = new Intl.NumberFormat("en");
const day = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeZone: "UTC" });
const minute = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
const ago = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const UNITS = [["year", 31_557_600], ["month", 2_629_800], ["day", 86_400], ["hour", 3_600], ["minute", 60]];

const rows = [];
const totals = { images: 0, videos: 0, bytes: 0, newest: -Infinity };
let isIndex = false;
let isComplete = false;

// ---- reading

const text = (raw) => raw.includes("&") ? raw.replace(/&(amp|lt|gt|quot|apos);/g, (_, name) => ENTITIES[name]) : raw;

const attribute = (tag, name) => text(tag.match(new RegExp(`\\b${name}="([^"]*)"`))?.[1] ?? "");

/** The address, if it is one that may be a link. */
function parsed(address) {
  try {
    const url = new URL(address);
    return url.protocol === "https:" || url.protocol === "http:" ? url : null;
  } catch {
    return null;
  }
}

/** An address as people write it, unless that would hide what it is: invisible and direction-turning characters stay encoded. */
function readable(address) {
  const url = parsed(address);
  const short = url ? url.pathname + url.search : address;
  try {
    const decoded = decodeURI(short);
    return /[\p{C}\p{Z}]/u.test(decoded) ? short : decoded;
  } catch {
    return short;
  }
}

function entry(body) {
  const row = { n: rows.length + 1, loc: "", lastmod: "", changefreq: "", priority: "", images: [], videos: [], news: null, links: [] };
  for (const [, tag, attributes, raw] of body.matchAll(TAG)) {
    const [prefix, name] = tag.includes(":") ? tag.split(":") : ["", tag];
    if (prefix === "") {
      if (PLAIN.has(name)) row[name] = text(raw);
    } else if (tag === "image:loc") {
      row.images.push(text(raw));
    } else if (tag === "video:video") {
      row.videos.push(new Map());
    } else if (tag === "news:news") {
      row.news = new Map();
    } else if (tag === "xhtml:link") {
      row.links.push([attribute(attributes, "hreflang"), attribute(attributes, "href")]);
    } else if (prefix === "video" || prefix === "news") {
      (prefix === "video" ? row.videos.at(-1) : row.news)?.set(name, text(raw));
    }
  }
  row.name = readable(row.loc);
  row.time = Date.parse(row.lastmod);
  totals.images += row.images.length;
  totals.videos += row.videos.length;
  if (row.time > totals.newest) totals.newest = row.time;
  return row;
}

// A message is a task of its own, without the pause that a timer has.
const channel = new MessageChannel();
const pause = () => new Promise((resolve) => {
  channel.port1.onmessage = resolve;
  channel.port2.postMessage(null);
});

async function read() {
  // By another address than the page's own, so that no browser's cache takes one for the other; and as new as it may be.
  const response = await fetch(`${location.pathname}?view=xml`, { cache: "no-cache" });
  if (!response.ok) {
    throw new Error(response.status === 404 ? "This sitemap is gone." : `This sitemap cannot be read (${response.status}).`);
  }
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let begun = performance.now();
  for (let isOver = false; !isOver;) {
    const { done, value } = await reader.read();
    isOver = done;
    totals.bytes += value?.length ?? 0;
    rest += decoder.decode(value, { stream: !done });
    let read = 0;
    for (const found of rest.matchAll(ENTRY)) {
      if (rows.length === 0) isIndex = found[1] === "sitemap";
      rows.push(entry(found[2]));
      read = found.index + found[0].length;
      if (performance.now() - begun > STEP_MS) {
        arrived();
        await pause();
        begun = performance.now();
      }
    }
    rest = rest.slice(read);
  }
  const end = rest.match(END);
  if (!end) throw new Error("This sitemap breaks off: what is shown is not all of it.");
  isIndex = (end[1] ?? end[2]) === "sitemapindex";
}

// ---- choosing

function state() {
  const query = new URLSearchParams(location.search);
  const size = Number(query.get("size"));
  const sort = query.get("sort") ?? "";
  return {
    q: query.get("q") ?? "",
    page: Math.max(1, Math.trunc(Number(query.get("page"))) || 1),
    size: SIZES.includes(size) ? size : DEFAULT_SIZE,
    sort: COLUMNS.some((column) => column.key === sort.replace(/^-/, "")) ? sort : "",
  };
}

function address(wanted) {
  const query = new URLSearchParams();
  if (wanted.q) query.set("q", wanted.q);
  if (wanted.sort) query.set("sort", wanted.sort);
  if (wanted.size !== DEFAULT_SIZE) query.set("size", wanted.size);
  if (wanted.page > 1) query.set("page", wanted.page);
  const search = query.toString();
  return location.pathname + (search && `?${search}`);
}

function go(change, { replace = false } = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", address({ ...state(), page: 1, ...change }));
  show();
}

const words = (row) => row.words ??= [
  row.loc, row.name, row.news?.get("title"), row.news?.get("name"), ...row.videos.map((video) => video.get("title")),
].join("\n").toLowerCase();

const isNone = (key) => key === "" || Number.isNaN(key);

function chosen({ q, sort }) {
  const wanted = q.trim().toLowerCase();
  const found = wanted ? rows.filter((row) => words(row).includes(wanted)) : rows.slice();
  if (!sort) return found;
  const sign = sort.startsWith("-") ? -1 : 1;
  const { value } = COLUMNS.find((column) => column.key === sort.replace(/^-/, ""));
  // What has no value comes last either way; equals stay in the sitemap's order.
  return found.map((row) => [value(row), row]).sort(([a], [b]) =>
    isNone(a) || isNone(b) ? isNone(a) - isNone(b) : a < b ? -sign : a > b ? sign : 0
  ).map(([, row]) => row);
}

// ---- showing

/** An element with these properties and children; a text among them stays text. */
function element(name, properties, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children.filter(Boolean));
  return made;
}

/** A link if the address may be one, else its text. */
function link(href, label, properties) {
  const url = parsed(href);
  return url ? element("a", { href: url.href, rel: "noopener noreferrer", title: href, ...properties }, label) : element("span", {}, label);
}

/** A sitemap of the index: on this host, whatever host the index names, so that a copy of the site leads to its own. */
function sitemapLink(row) {
  const path = parsed(row.loc)?.pathname;
  return path ? element("a", { href: path, title: row.loc }, row.name.replace(/^\//, "")) : element("span", {}, row.loc);
}

const hasTime = (raw) => raw.includes("T");

function since(time) {
  const seconds = Math.round((time - Date.now()) / 1000);
  const [unit, length] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? ["minute", 60];
  return ago.format(Math.round(seconds / length), unit);
}

function moment(raw) {
  const time = Date.parse(raw ?? "");
  if (Number.isNaN(time)) return raw;
  const exact = (hasTime(raw) ? minute : day).format(time);
  return element("time", { dateTime: raw, title: raw }, element("span", {}, since(time)), element("small", {}, exact));
}

function duration(raw) {
  const seconds = Number(raw);
  if (!Number.isSafeInteger(seconds)) return raw;
  const parts = [Math.trunc(seconds / 3600), Math.trunc(seconds / 60) % 60, seconds % 60];
  return parts.slice(parts[0] ? 0 : 1).map((part, at) => at ? String(part).padStart(2, "0") : part).join(":");
}

/** What there is more of, made once it is asked for: a page may have a thousand images. */
function folded(label, items, make) {
  if (items.length === 0) return "";
  const details = element("details", {}, element("summary", {}, label));
  details.addEventListener("toggle", () => details.append(...items.map(make)), { once: true });
  return details;
}

function videoLine(video) {
  const published = Date.parse(video.get("publication_date"));
  const facts = [
    video.has("duration") && duration(video.get("duration")),
    !Number.isNaN(published) && day.format(published),
    video.get("live") === "yes" && "live",
  ].filter(Boolean).join(" · ");
  const title = link(video.get("player_loc") ?? video.get("content_loc"), video.get("title") ?? "Video");
  return element("p", { className: "video" }, title, " ", facts && element("small", {}, facts));
}

function page(row) {
  if (isIndex) return [sitemapLink(row)];
  const title = row.news?.get("title");
  return [
    link(row.loc, title || row.name),
    title && element("small", {}, row.name),
    ...row.videos.slice(0, SHOWN_VIDEOS).map(videoLine),
    folded(`${number.format(row.videos.length - SHOWN_VIDEOS)} more`, row.videos.slice(SHOWN_VIDEOS), videoLine),
  ];
}

const COLUMNS = [
  { key: "n", label: "#", value: (row) => row.n, cell: (row) => [number.format(row.n)] },
  { key: "loc", label: "Page", value: (row) => row.news?.get("title") || row.name, cell: page },
  { key: "published", label: "Published", value: (row) => Date.parse(row.news?.get("publication_date")), cell: (row) => [moment(row.news?.get("publication_date"))] },
  { key: "publication", label: "Publication", value: (row) => row.news?.get("name") ?? "", cell: (row) => [row.news?.get("name"), row.news && element("small", {}, row.news.get("language") ?? "")] },
  { key: "lastmod", label: "Last change", value: (row) => row.time, cell: (row) => [moment(row.lastmod)] },
  { key: "images", label: "Images", value: (row) => row.images.length || "", cell: (row) => [folded(number.format(row.images.length), row.images, (image) => element("p", {}, link(image, image)))] },
  { key: "videos", label: "Videos", value: (row) => row.videos.length || "", cell: (row) => [row.videos.length ? number.format(row.videos.length) : ""] },
  { key: "languages", label: "Languages", value: (row) => row.links.map(([code]) => code).join(), cell: (row) => row.links.map(([code, href]) => link(href, code, { className: "language", hreflang: code })) },
  { key: "changefreq", label: "Changes", value: (row) => row.changefreq, cell: (row) => [row.changefreq] },
  { key: "priority", label: "Priority", value: (row) => row.priority && Number(row.priority), cell: (row) => [row.priority] },
];

let known = { rows: -1, columns: [] };

/** The columns that say something of any row. */
function columns() {
  if (known.rows !== rows.length) {
    known = { rows: rows.length, columns: COLUMNS.filter(({ value }) => rows.some((row) => !isNone(value(row)))) };
  }
  return known.columns;
}

function table(first, sort) {
  const [key, isDown] = [sort.replace(/^-/, ""), sort.startsWith("-")];
  // The roles keep it a table where the narrow layout makes blocks of its rows.
  const heads = columns().map((column) => {
    const isSorted = column.key === key;
    const label = column.key === "loc" && isIndex ? "Sitemap" : column.label;
    const button = element("button", { type: "button", "data-sort": column.key }, label, isSorted && element("span", { "aria-hidden": "true" }, isDown ? " ↓" : " ↑"));
    button.addEventListener("click", () => {
      // As people look for it first, then turned, then as in the sitemap.
      const ways = column.key === "loc" || column.key === "n" ? [column.key, `-${column.key}`] : [`-${column.key}`, column.key];
      go({ sort: ways[ways.indexOf(sort) + 1] ?? "" });
      document.querySelector(`[data-sort="${column.key}"]`)?.focus();
    });
    return element("th", { scope: "col", role: "columnheader", className: column.key, "aria-sort": isSorted ? (isDown ? "descending" : "ascending") : "none" }, button);
  });
  const body = first.map((row) => element("tr", { role: "row" }, ...columns().map((column) =>
    element("td", { role: "cell", className: column.key, "data-label": column.label }, ...column.cell(row)))));
  return element("table", { role: "table", "aria-label": isIndex ? "Sitemaps" : "Pages" },
    element("thead", { role: "rowgroup" }, element("tr", { role: "row" }, ...heads)),
    element("tbody", { role: "rowgroup" }, ...body));
}

function pager(wanted, last) {
  const step = (page, label, properties) => {
    if (page < 1 || page > last) return element("span", { "aria-hidden": "true" }, label);
    const made = element("a", { href: address({ ...wanted, page }), ...properties }, label);
    made.addEventListener("click", (event) => {
      if (event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      go({ page });
      $("tools").scrollIntoView();
      $("summary").focus({ preventScroll: true });
    });
    return made;
  };
  const near = [1, wanted.page - 1, wanted.page, wanted.page + 1, last].filter((page) => page >= 1 && page <= last);
  const numbers = [...new Set(near)].sort((a, b) => a - b).flatMap((page, at, all) => [
    at > 0 && page > all[at - 1] + 1 ? element("span", {}, "…") : "",
    step(page, number.format(page), page === wanted.page ? { "aria-current": "page" } : { "aria-label": `Page ${page}` }),
  ]);
  const all = [step(wanted.page - 1, "← Previous", { rel: "prev" }), ...numbers, step(wanted.page + 1, "Next →", { rel: "next" })];
  $("pager").replaceChildren(...all.filter(Boolean));
  $("pager").hidden = last < 2 || !isComplete;
}

const plural = (count, one, many) => `${number.format(count)} ${count === 1 ? one : many}`;

function counts() {
  const size = totals.bytes < 100_000 ? `${Math.ceil(totals.bytes / 1000)} kB` : `${(totals.bytes / 1_000_000).toFixed(1)} MB`;
  $("counts").textContent = [
    isIndex ? plural(rows.length, "sitemap", "sitemaps") : plural(rows.length, "URL", "URLs"),
    totals.images && plural(totals.images, "image", "images"),
    totals.videos && plural(totals.videos, "video", "videos"),
    isComplete && Number.isFinite(totals.newest) && `last change ${since(totals.newest)}`,
    isComplete ? `${size} of XML` : "reading …",
  ].filter(Boolean).join(" · ");
}

function show() {
  const wanted = state();
  const found = chosen(wanted);
  const last = Math.max(1, Math.ceil(found.length / wanted.size));
  wanted.page = Math.min(wanted.page, last);
  const start = (wanted.page - 1) * wanted.size;
  const first = found.slice(start, start + wanted.size);
  if ($("filter").value !== wanted.q) $("filter").value = wanted.q;
  $("size").value = wanted.size;
  const isEmpty = rows.length === 0 && $("failure").hidden;
  $("list").replaceChildren(first.length ? table(first, wanted.sort) : isEmpty ? "Nothing is listed." : "");
  const range = `${number.format(start + 1)}–${number.format(start + first.length)}${isComplete ? ` of ${number.format(found.length)}` : ""}`;
  $("summary").textContent = found.length ? range + (wanted.q ? " that match" : "") : "Nothing matches.";
  pager(wanted, last);
  $("tools").hidden = rows.length === 0;
  counts();
}

let isShown = false;

/** More rows are there. The first page of an unsorted list can be shown before the rest has come. */
function arrived() {
  const { q, sort, page, size } = state();
  if (!isShown && !q && !sort && rows.length >= page * size) {
    isShown = true;
    show();
  } else {
    counts();
  }
}

// ---- starting

function name() {
  const file = location.pathname.slice(1);
  const isFirstIndex = location.pathname === INDEX_PATH;
  const host = parsed(rows[0]?.loc)?.host ?? location.host;
  $("name").textContent = isFirstIndex ? host : file;
  document.title = isFirstIndex ? `Sitemaps of ${host}` : `${file} · ${host}`;
  $("up").hidden = isFirstIndex;
}

function theme() {
  const button = $("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
  const set = (wanted) => {
    if (wanted) root.dataset.theme = wanted;
    button.setAttribute("aria-pressed", isDark());
  };
  let kept = null;
  try {
    kept = localStorage.getItem("waymark-theme");
  } catch {
    // Without storage, the choice lasts as long as the page.
  }
  set(kept === "dark" || kept === "light" ? kept : "");
  system.addEventListener("change", () => set(""));
  button.hidden = false;
  button.addEventListener("click", () => {
    const wanted = isDark() ? "light" : "dark";
    set(wanted);
    try {
      localStorage.setItem("waymark-theme", wanted);
    } catch {
      // As above.
    }
  });
}

function start() {
  $("scriptless").remove();
  theme();
  name();
  const path = location.pathname;
  const forms = [["View XML", "?view=xml"], ["gzip", `${path}.gz`]];
  if (!path.startsWith("/sitemap_index")) forms.push(["Text", path.replace(/\.xml$/, ".txt")]);
  $("forms").replaceChildren(...forms.map(([label, href]) => element("a", { href }, label)));
  $("size").replaceChildren(...SIZES.map((size) => element("option", { value: size }, number.format(size))));
  $("size").addEventListener("change", (event) => go({ size: Number(event.target.value) }));
  let typing;
  $("filter").addEventListener("input", (event) => {
    clearTimeout(typing);
    // The first letter is a step to come back from, further ones are the same step.
    typing = setTimeout(() => go({ q: event.target.value }, { replace: state().q !== "" }), 120);
  });
  addEventListener("popstate", show);
  addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      $("filter").focus();
    }
  });
}

start();
counts();
try {
  await read();
} catch (error) {
  $("failure").textContent = error instanceof TypeError ? "This sitemap cannot be reached." : error.message;
  $("failure").hidden = false;
}
isComplete = true;
name();
show();
