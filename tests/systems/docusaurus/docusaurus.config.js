export default {
  title: "Lantern", url: "https://www.lantern.example", baseUrl: "/", onBrokenLinks: "ignore", trailingSlash: true,
  presets: [["classic", { docs: { routeBasePath: "/" }, blog: false, sitemap: { lastmod: "datetime" } }]],
};
