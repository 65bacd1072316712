// The view for people: fetches its own path as XML, which is the document that crawlers get, and shows it as a table.
//
// - The document is read as it arrives and in short steps: the first rows are there before the last, and nothing freezes.
// - What it says is shown as text, never as markup; only http and https addresses become links; nothing is loaded from them.
// - Filter, sorting and page are in this page's address, so that back, reload and a sent link work.

// What the publisher writes: fixed prefixes, `>` escaped also in attributes, no CDATA, and in front of an index's root one
// comment with the number of URLs of each sitemap, which an older index does not have.
const ENTRY = /<(url|sitemap|entry)>([^]*?)<\/\1>/g;
const TAG = /<([\w:]+)([^>]*)>([^<]*)/g;
const END = /<\/(urlset|sitemapindex|feed)>\s*$|<(urlset|sitemapindex)\b[^>]*\/>\s*$/;
const COUNTS = /<!-- Index (\d+) of (\d+)\. URLs of each sitemap[^:]*:([\d [\]?]*) -->/;
const KIND = /^\/(.+)-sitemap\d*\.xml$/;
// The kind of the sitemaps that the site lists and others publish. No kind of its own has such a name.
const OTHERS = "of others";
const PLAIN = new Set(["loc", "lastmod", "changefreq", "priority"]);
// What a change of the feed says, and what a page of a sitemap calls it. Its id is its address.
const FEED = new Map([["id", "loc"], ["title", "title"], ["summary", "summary"], ["published", "published"], ["updated", "lastmod"]]);
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

// Work is interrupted after so many milliseconds: half of what makes a frame late at 30 a second.
const STEP_MS = 16;
const SIZES = [50, 100, 250, 1000];
const DEFAULT_SIZE = 100;
const SHOWN_VIDEOS = 3;
const COPIED_MS = 2_000;
const INDEX_PATH = "/sitemap_index.xml";
const FEED_PATH = "/feed.atom";

const $ = (id) => document.getElementById(id);
const number = new Intl.NumberFormat("en");
const day = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeZone: "UTC" });
const minute = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
const ago = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const UNITS = [["year", 31_557_600], ["month", 2_629_800], ["day", 86_400], ["hour", 3_600], ["minute", 60]];

const isFeed = location.pathname === FEED_PATH;
const rows = [];
const totals = { images: 0, videos: 0, bytes: 0, newest: -Infinity };
let isIndex = false;
let numbers = null; // of an index: its own, how many there are, and what each of its sitemaps lists
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
  const row = {
    n: rows.length + 1, loc: "", lastmod: "", changefreq: "", priority: "", images: [], videos: [], news: null, links: [],
    title: "", summary: "", published: "", // of the feed
  };
  for (const [, tag, attributes, raw] of body.matchAll(TAG)) {
    const [prefix, name] = tag.includes(":") ? tag.split(":") : ["", tag];
    if (isFeed) {
      if (FEED.has(name)) row[FEED.get(name)] = text(raw);
    } else if (prefix === "") {
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
  if (row.news) [row.title, row.published] = [row.news.get("title") ?? "", row.news.get("publication_date") ?? ""];
  // A page without a title has its address as one.
  if (row.title === row.loc) row.title = "";
  row.time = Date.parse(row.lastmod);
  row.count = numbers?.counts[rows.length];
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
  if (!response.ok) throw response.status === 404 ? missing() : unreadable(response.status);
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
    if (rows.length === 0) numbers ??= numbered(rest);
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
  if (!end) throw broken();
  isIndex = (end[1] ?? end[2]) === "sitemapindex";
  // Numbers that are not those of these lines would be false.
  if (numbers && numbers.counts.length !== rows.length) for (const row of rows) delete row.count;
}

/** What an index says in its comment, if that is there. */
function numbered(start) {
  const found = start.match(COUNTS);
  if (!found) return null;
  const counts = found[3].split(" ").filter(Boolean).map((count) =>
    ({ urls: Number(count.replace(/\D/g, "")), isRepeated: count.startsWith("["), isForeign: count === "?" }));
  return { index: Number(found[1]), of: Number(found[2]), counts };
}

// ---- what is wrong, and what to do

/** What cannot be shown, and what somebody can do: texts and elements. */
class Trouble extends Error {
  constructor(message, ...advice) {
    super(message);
    this.advice = advice;
  }
}

class Missing extends Trouble {}

const command = (text) => element("code", {}, text);
const again = (label) => element("a", { href: location.href }, label);
const all = (label) => element("a", { href: INDEX_PATH }, label);
const repaired = () => ["If it stays so and you run the site: ", command("waymark audit --repair"), " writes what is damaged anew. The daily audit does so, too."];

const NAME = /-sitemap\d*\.(xml|txt)(\.gz)?$|^\/sitemap_index/;

function missing() {
  const path = location.pathname;
  if (path === INDEX_PATH) return new Missing("This site has no sitemaps yet.", "They appear when all of its pages are read. If you run the site, ", command("waymark status"), " says how far that is.");
  if (isFeed) return new Missing("This site has no feed.", "It is not published yet, or the site is not public, or its settings want no feed. ", all("All sitemaps"), " are in the index.");
  if (!NAME.test(path)) return new Missing("There is nothing at this address.", "Waymark publishes sitemaps here: ", all("All sitemaps"), " of this site are in its index.");
  return new Missing("There is no such sitemap, or not any more.", all("All sitemaps"), " of this site are in its index. A sitemap goes when its last page has gone, or when settings close it.");
}

const unreadable = (status) => new Trouble(`This sitemap cannot be read (${status}).`, again("Try again"), " in a minute. ", ...repaired());

const broken = () => new Trouble("This sitemap breaks off: what is shown is not all of it.", again("Read it again"), ". ", ...repaired());

const unreached = () => rows.length
  ? new Trouble("The connection broke: what is shown is not all of it.", again("Read it again"), ".")
  : new Trouble("This sitemap cannot be reached.", "See whether you are online, then ", again("try again"), ".");

const empty = () => isFeed ? new Trouble("No page has changed lately.", "A change stays here for two days. ", all("All sitemaps"), " list every page.") : isIndex
  ? new Trouble("No sitemap is listed.", "No page of this site can be listed, or the site is not public. If you run it, ", command("waymark status"), " says which, and ", command("waymark explain"), " why a page is left out.")
  : new Trouble("Nothing is listed.", "Its last page has gone, and so will this sitemap. ", all("All sitemaps"), " with pages are in the index. If you run the site and miss a page, ", command("waymark explain"), " says why it is left out.");

const told = ({ message, advice }) => [element("strong", {}, message), element("p", {}, ...advice)];

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
  row.loc, row.name, row.title, row.summary, row.news?.get("name"), ...row.videos.map((video) => video.get("title")),
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

/** A button that copies an address and says so. A page that came without TLS may not copy: there is none then. */
function copyButton(address, label, properties) {
  if (!navigator.clipboard) return "";
  const button = element("button", { type: "button", className: "copy", ...properties }, label);
  button.addEventListener("click", async () => {
    let said = `Copied ${address}`;
    try {
      await navigator.clipboard.writeText(address);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = label; }, COPIED_MS);
    } catch {
      said = "Not copied: the browser does not allow it.";
    }
    $("said").textContent = "";
    // A text that is put back at once would not be read out a second time.
    setTimeout(() => { $("said").textContent = said; }, 50);
  });
  return button;
}

const copyLoc = (row) => parsed(row.loc) && copyButton(row.loc, "Copy", { "aria-label": `Copy ${row.loc}` });

/** A sitemap of the index: on this host, whatever host the index names, so that a copy of the site leads to its own. */
function sitemapLink(row) {
  if (isForeign(row)) return link(row.loc, row.loc);
  const path = parsed(row.loc)?.pathname;
  return path ? element("a", { href: path, title: row.loc }, row.name.replace(/^\//, "")) : element("span", {}, row.loc);
}

const isForeign = ({ count }) => count?.isForeign ?? false;

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
  if (isIndex) return [sitemapLink(row), copyLoc(row)];
  return [
    link(row.loc, row.title || row.name),
    copyLoc(row),
    row.title && element("small", {}, row.name),
    row.summary && element("p", { className: "about" }, row.summary),
    ...row.videos.slice(0, SHOWN_VIDEOS).map(videoLine),
    folded(`${number.format(row.videos.length - SHOWN_VIDEOS)} more`, row.videos.slice(SHOWN_VIDEOS), videoLine),
  ];
}

const urls = (count, isRepeated) => [number.format(count), isRepeated ? " " : "", isRepeated ? element("small", {}, "listed elsewhere, too") : ""];

const COLUMNS = [
  { key: "n", label: "#", value: (row) => row.n, cell: (row) => [number.format(row.n)] },
  { key: "loc", label: "Page", value: (row) => row.title || row.name, cell: page },
  { key: "urls", label: "URLs", value: (row) => isForeign(row) ? "" : row.count?.urls ?? "", cell: (row) => isForeign(row) ? [element("small", {}, "of others")] : row.count ? urls(row.count.urls, row.count.isRepeated) : [] },
  { key: "published", label: "Published", value: (row) => Date.parse(row.published), cell: (row) => [moment(row.published)] },
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

const labelled = ({ key, label }) => key === "loc" && isIndex ? "Sitemap" : label;

/** The orders of a column, as people look for them: first, then turned. */
const orders = ({ key }) => key === "loc" || key === "n" ? [key, `-${key}`] : [`-${key}`, key];

/** The choice of an order where the table has no heads: on phones. */
function sorting(sort) {
  const all = columns().filter(({ key }) => key !== "n").flatMap((column) => orders(column).map((order) =>
    element("option", { value: order }, `${labelled(column)} ${order.startsWith("-") ? "↓" : "↑"}`)));
  $("sort").replaceChildren(element("option", { value: "" }, "as listed"), ...all);
  $("sort").value = sort;
}

function table(first, sort) {
  const [key, isDown] = [sort.replace(/^-/, ""), sort.startsWith("-")];
  // The roles keep it a table where the narrow layout makes blocks of its rows.
  const heads = columns().map((column) => {
    const isSorted = column.key === key;
    const button = element("button", { type: "button", "data-sort": column.key }, labelled(column), isSorted && element("span", { "aria-hidden": "true" }, isDown ? " ↓" : " ↑"));
    button.addEventListener("click", () => {
      // In the end as in the sitemap.
      const all = orders(column);
      go({ sort: all[all.indexOf(sort) + 1] ?? "" });
      document.querySelector(`[data-sort="${column.key}"]`)?.focus();
    });
    return element("th", { scope: "col", role: "columnheader", className: column.key, "aria-sort": isSorted ? (isDown ? "descending" : "ascending") : "none" }, button);
  });
  const body = first.map((row) => element("tr", { role: "row" }, ...columns().map((column) =>
    element("td", { role: "cell", className: column.key, "data-label": column.label }, ...column.cell(row)))));
  return element("table", { role: "table", "aria-label": isIndex ? "Sitemaps" : isFeed ? "Changes" : "Pages" },
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

const listedOnce = (of) => of.filter(({ count }) => count && !count.isRepeated && !count.isForeign);
const sum = (of) => of.reduce((total, { count }) => total + count.urls, 0);
const newest = (of) => of.reduce((last, row) => row.time > (last?.time ?? -Infinity) ? row : last, null);

/** The sitemaps of an index by the kind that their names begin with, if some kind has several. */
function kinds() {
  const found = new Map();
  for (const row of isIndex ? rows : []) {
    const kind = isForeign(row) ? OTHERS : parsed(row.loc)?.pathname.match(KIND)?.[1] ?? "";
    if (!found.has(kind)) found.set(kind, []);
    found.get(kind).push(row);
  }
  $("kinds").hidden = found.size < 2 || found.size === rows.length;
  if ($("kinds").hidden) return;
  const hasCounts = rows.every(({ count }) => count);
  const line = (head, of, counted) => element("tr", {}, head,
    element("td", {}, number.format(of.length)), counted && element("td", {}, ...counted), element("td", {}, moment(newest(of)?.lastmod)));
  const body = [...found].map(([kind, of]) => {
    const label = element("a", { href: address({ ...state(), page: 1, sort: "", q: `/${kind}-sitemap` }) }, kind);
    const counted = hasCounts && (kind === OTHERS ? [] : urls(sum(of), of[0].count.isRepeated));
    return line(element("th", { scope: "row" }, kind === OTHERS ? kind : kind ? label : "other"), of, counted);
  });
  const total = line(element("th", { scope: "row" }, isOneOfMany() ? "All here" : "All"), rows, hasCounts && urls(sum(listedOnce(rows))));
  const heads = ["Kind", "Sitemaps", hasCounts && "URLs", "Last change"].filter(Boolean).map((label) => element("th", { scope: "col" }, label));
  $("kinds").replaceChildren(element("table", { className: "kinds", "aria-label": "Kinds of sitemaps" },
    element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...body), element("tfoot", {}, total)));
}

/** What the numbers of an index are. */
function note() {
  const hasRepeated = rows.some(({ count }) => count?.isRepeated);
  if (isFeed) {
    $("note").textContent = "This is a feed. A feed reader that has its address tells you of every change; a change stays in it for two days, and a new one may take two minutes to appear.";
    $("note").hidden = !isComplete || rows.length === 0;
    return;
  }
  $("note").textContent = "A last change is that of a sitemap's newest page, or of a sitemap whose pages have no dates. URLs are as the index has counted them, which is written seconds after a sitemap."
    + (hasRepeated ? " What is listed elsewhere, too, is not in the sum." : "");
  $("note").hidden = !rows.some(({ count }) => count);
}

/** Whether there are further indexes, so that the numbers of this one are not the site's. */
const isOneOfMany = () => isIndex && numbers?.of > 1;

/** The indexes before and behind this one. */
function neighbours() {
  const { index, of } = numbers ?? { index: 1, of: 1 };
  const steps = [[index - 1, "←"], [index + 1, "→"]].filter(([n]) => n >= 1 && n <= of);
  $("indexes").replaceChildren(`Index ${index} of ${of}`, ...steps.map(([n, arrow]) =>
    element("a", { href: n === 1 ? INDEX_PATH : `/sitemap_index${n}.xml` }, n < index ? `${arrow} Index ${n}` : `Index ${n} ${arrow}`)));
  $("indexes").hidden = !isIndex || of < 2;
}

/** Numbers of a document of which not all is read look so. */
const asRead = (label) => isComplete ? ($("failure").hidden ? label : `at least ${label}`) : `${label} so far`;

const plural = (count, one, many) => `${number.format(count)} ${count === 1 ? one : many}`;

/** How many URLs the sitemaps of an index list, if it says so of each. */
function listed() {
  if (!rows.length || !rows.every(({ count }) => count)) return "";
  const own = rows.filter((row) => !isForeign(row));
  if (!own.length) return "";
  const once = listedOnce(own);
  const many = plural(sum(once.length ? once : own), "URL", "URLs");
  return once.length ? many : `${many} that are listed elsewhere, too`;
}

/** How many sitemaps an index lists: the site's own, and those of others. */
function sitemaps() {
  const others = rows.filter(isForeign).length;
  const own = plural(rows.length - others, "sitemap", "sitemaps");
  return others ? `${own} and ${number.format(others)} of others` : own;
}

function counts() {
  if (isComplete && !$("failure").hidden && rows.length === 0) {
    $("counts").textContent = "not read";
    return;
  }
  const size = totals.bytes < 100_000 ? `${Math.ceil(totals.bytes / 1000)} kB` : `${(totals.bytes / 1_000_000).toFixed(1)} MB`;
  $("counts").textContent = [
    asRead(isIndex ? sitemaps() : isFeed ? plural(rows.length, "change", "changes") : plural(rows.length, "URL", "URLs"))
      + (isOneOfMany() ? " in this index" : ""),
    isIndex && isComplete && listed(),
    totals.images && asRead(plural(totals.images, "image", "images")),
    totals.videos && asRead(plural(totals.videos, "video", "videos")),
    isComplete && $("failure").hidden && Number.isFinite(totals.newest) && `last change ${since(totals.newest)}`,
    isComplete ? asRead(`${size} of XML`) : "reading …",
    isComplete && !$("failure").hidden && "not all of it",
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
  $("list").replaceChildren(...first.length ? [table(first, wanted.sort)] : isEmpty ? told(empty()) : []);
  const range = `${number.format(start + 1)}–${number.format(start + first.length)}${isComplete ? ` of ${asRead(number.format(found.length))}` : ""}`;
  $("summary").textContent = found.length ? range + (wanted.q ? " that match" : "") : `Nothing matches${isComplete && $("failure").hidden ? "" : " in what is read"}.`;
  pager(wanted, last);
  sorting(wanted.sort);
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
  $("name").textContent = isFirstIndex ? host : isFeed ? "Recent changes" : file;
  document.title = isFirstIndex ? `Sitemaps of ${host}` : isFeed ? `Recent changes of ${host}` : `${file} · ${host}`;
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
  const forms = [["View XML", "?view=xml"]];
  if (!isFeed) forms.push(["gzip", `${path}.gz`]);
  if (!isFeed && !path.startsWith("/sitemap_index")) forms.push(["Text", path.replace(/\.xml$/, ".txt")]);
  if (!isFeed) forms.push(["Feed", FEED_PATH]);
  const own = location.origin + path;
  $("address").textContent = own;
  $("forms").replaceChildren(...forms.map(([label, href]) => element("a", { href }, label)), copyButton(own, "Copy URL"));
  $("size").replaceChildren(...SIZES.map((size) => element("option", { value: size }, number.format(size))));
  $("sort").addEventListener("change", (event) => go({ sort: event.target.value }));
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
  $("failure").replaceChildren(...told(error instanceof Trouble ? error : unreached()));
  $("failure").hidden = false;
  // What is not there has no other form.
  $("forms").hidden = error instanceof Missing;
}
isComplete = true;
name();
kinds();
neighbours();
note();
show();
