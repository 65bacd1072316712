export default defineNuxtConfig({
  modules: ["@nuxtjs/sitemap"],
  compatibilityDate: "2026-03-01",
  telemetry: false,
  site: { url: "https://www.lantern.example", trailingSlash: true },
  sitemap: {
    credits: false, xsl: false,
    urls: [
      { loc: "/soup", lastmod: "2026-03-01T10:20:30.500Z", priority: 0.8, changefreq: "weekly", images: [{ loc: "/soup.jpg?a=1&b=2", title: "Soup & bread" }] },
      { loc: "/search?b=2&a=1", lastmod: "2026-03" },
      { loc: "/de/about", alternatives: [{ hreflang: "en", href: "/about" }, { hreflang: "de", href: "/de/about" }] },
    ],
  },
  routeRules: { "/hidden": { robots: false } },
});
