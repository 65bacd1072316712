// Sitemaps as the publisher writes them, larger and stranger than a sample site has them.

export const PAGES = 50_000;
export const SITE = "https://www.lantern-and-larch.example";

const NAMESPACES = {
  image: "http://www.google.com/schemas/sitemap-image/1.1",
  xhtml: "http://www.w3.org/1999/xhtml",
  video: "http://www.google.com/schemas/sitemap-video/1.1",
  news: "http://www.google.com/schemas/sitemap-news/0.9",
};

export const escape = (text) => text.replace(/[&<>"']/g, (mark) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;" })[mark]);

function urlset(prefixes, urls, stylesheet = "/sitemap.css") {
  const declared = prefixes.map((prefix) => ` xmlns:${prefix}="${NAMESPACES[prefix]}"`).join("");
  const kind = stylesheet.endsWith(".xsl") ? "text/xsl" : "text/css";
  const xml = `<?xml version="1.0" encoding="UTF-8"?>\n<?xml-stylesheet type="${kind}" href="${stylesheet}"?>\n` +
    `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"${declared}>\n${urls.map((url) => `<url>${url}</url>\n`).join("")}</urlset>\n`;
  return { xml, entries: urls.length };
}

const element = (name, text) => `<${name}>${escape(String(text))}</${name}>`;
const loc = (path) => element("loc", SITE + path);

/** 50,000 pages. The hundredth of every hundred mentions a heron; lastmod falls by a minute each; every other has an image. */
function bulk() {
  const newest = Date.UTC(2026, 10, 20);
  const urls = [];
  for (let n = 1; n <= PAGES; n++) {
    const lastmod = new Date(newest - n * 60_000).toISOString().replace(".000Z", "+00:00");
    const path = `/archive/2026/${n % 100 === 0 ? "heron" : "a-walk-in-the-rain"}-and-what-came-of-it-${n}/`;
    const image = n % 2 ? "" : `<image:image>${element("image:loc", `https://images.larch-cdn.example/${n}.jpg`)}</image:image>`;
    urls.push(loc(path) + element("lastmod", lastmod) + image);
  }
  return urlset(["image", "xhtml"], urls);
}

function video(of) {
  const elements = Object.entries(of).map(([name, value]) => element(`video:${name}`, value));
  return `<video:video>${elements.join("")}</video:video>`;
}

function videos() {
  const film = (n, more = {}) => video({
    thumbnail_loc: `https://images.larch-cdn.example/film-${n}.jpg`, title: `How to trim a wick, part ${n}`, description: "With scissors.",
    player_loc: `https://films.larch-cdn.example/play/${n}`, duration: 60 * n + 5, publication_date: "2026-10-02T06:00:00+00:00", ...more,
  });
  return urlset(["video"], [
    loc("/wicks/") + element("lastmod", "2026-11-01T06:00:00+00:00") + film(1) + film(2, { duration: 7384 }),
    loc("/live/") + element("lastmod", "2026-11-20T06:00:00+00:00") + film(3, { live: "yes" }),
    loc("/all/") + [4, 5, 6, 7, 8].map((n) => film(n)).join(""),
  ], "/video-sitemap.xsl");
}

const article = (path, title, date, language = "en") => loc(path) +
  `<news:news><news:publication>${element("news:name", "Lantern & Larch")}${element("news:language", language)}</news:publication>` +
  `${element("news:publication_date", date)}${element("news:title", title)}</news:news>`;

function news() {
  return urlset(["news", "image"], [
    article("/first-snow/", "First snow above 900 metres", "2026-11-20T05:00:00+00:00"),
    article("/ferry/", "The ferry is back, and so is its bell", "2026-11-19T17:30:00+00:00"),
    article("/de/fähre/", "Die Fähre fährt wieder", "2026-11-19T18:00:00+00:00", "de"),
  ], "/news-sitemap.xsl");
}

export const MARKUP = `<img src=x onerror="document.title='taken'"><script>document.title='taken'</script>]]>&amp;`;

/** What somebody would write who means no good, escaped as the publisher does. */
function hostile() {
  return urlset(["news", "video", "xhtml", "image"], [
    article("/<b>bold</b>?a=1&b='2'", MARKUP, "2026-11-20T05:00:00+00:00"),
    element("loc", "javascript:document.title='taken'") + video({ title: MARKUP, player_loc: "javascript:document.title='taken'", duration: "x" }),
    loc("/%E2%80%AEgpj.exe") + element("lastmod", "<i>never</i>") + element("priority", MARKUP) +
      `<xhtml:link rel="alternate" hreflang="${escape(MARKUP)}" href="data:text/html,${escape(MARKUP)}"/>`,
    loc("/constructor/") + element("toString", "x") + element("video:__proto__", "x"),
  ]);
}

/** Languages, images and all that a page can have, for the eye. */
function pages() {
  const link = (code, path) => `<xhtml:link rel="alternate" hreflang="${code}" href="${SITE}${path}"/>`;
  const urls = [];
  for (let n = 1; n <= 60; n++) {
    const links = n % 3 ? "" : link("en", `/tales/${n}/`) + link("de", `/de/erzählungen/${n}/`) + link("pt-BR", `/pt/${n}/`) + link("x-default", `/tales/${n}/`);
    const images = `<image:image>${element("image:loc", "https://images.larch-cdn.example/a.jpg")}</image:image>`.repeat(n % 5);
    const date = n % 7 ? element("lastmod", new Date(Date.UTC(2026, 10, 20) - n ** 3 * 200_000).toISOString().replace(".000Z", "+00:00")) : "";
    urls.push(loc(encodeURI(`/tales/${n % 4 ? "the-lamp-that-would-not" : "grüße-aus-dem-süden"}-${n}/`)) + date +
      element("changefreq", n % 2 ? "weekly" : "monthly") + element("priority", n % 2 ? "0.8" : "0.5") + images + links);
  }
  return urlset(["image", "xhtml"], urls, "/sitemap.xsl");
}

/** Each by its series' name. */
export const DOCUMENTS = {
  "t-bulk": bulk(), "t-video": videos(), "t-news": news(), "t-hostile": hostile(), "t-pages": pages(),
  "t-empty": urlset([], []), "t-cut": urlset([], [loc("/a/")]),
  "t-damaged": { ...pages(), isDamaged: true },
};
// As a publisher that died in the middle would have left it.
DOCUMENTS["t-cut"].xml = DOCUMENTS["t-cut"].xml.replace("</urlset>\n", "<url>");

/** Sitemaps of these files, with what each lists, and a lastmod a day older each. */
function index(files, comment, others = []) {
  const lines = files.map((file, at) =>
    `<sitemap>${loc(`/${file}`)}${element("lastmod", new Date(Date.UTC(2026, 10, 20 - at)).toISOString().replace(".000Z", "+00:00"))}</sitemap>\n`);
  lines.push(...others.map((other) => `<sitemap>${element("loc", other)}</sitemap>\n`));
  const xml = `<?xml version="1.0" encoding="UTF-8"?>\n${comment}<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n${lines.join("")}</sitemapindex>\n`;
  return { xml, entries: lines.length };
}

const numbers = (n, counts) => `<!-- Index ${n} of 3. URLs of each sitemap, in brackets those that another one lists, too: ${counts} -->\n`;
const FILES = ["news-sitemap.xml", "page-sitemap.xml", "post-sitemap.xml", "post-sitemap2.xml", "video-sitemap.xml"];

export const OTHERS = ["https://forum.example/post-sitemap.xml", "http://shop.example/sitemap.xml"];

/** Each by its number: with numbers, as a cascade has them, as an earlier release wrote it, with numbers of other lines, empty, and with sitemaps of others. */
export const INDEXES = {
  2: index(FILES, numbers(2, "[3] 1200 50000 49998 [12]")),
  3: index(["sitemap_index4.xml", "sitemap_index5.xml"], numbers(3, "1000000 [7]")),
  4: index(FILES, ""),
  5: index(FILES, numbers(1, "1 2 3 4")),
  6: index([], ""),
  7: index(FILES, numbers(3, "[3] 1200 50000 49998 [12] ? ?"), OTHERS),
};
