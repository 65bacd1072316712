import sitemap from "@astrojs/sitemap";

export default {
  site: "https://www.lantern.example", outDir: "out", trailingSlash: "always",
  i18n: { locales: ["en", "de"], defaultLocale: "en" },
  integrations: [sitemap({ i18n: { defaultLocale: "en", locales: { en: "en-GB", de: "de-DE" } }, lastmod: new Date("2026-03-01T10:20:30.500Z") })],
};
