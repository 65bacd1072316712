export default {
  title: "Lantern", sitemap: { hostname: "https://www.lantern.example" }, cleanUrls: true,
  locales: { root: { label: "English", lang: "en" }, de: { label: "Deutsch", lang: "de" } },
};
