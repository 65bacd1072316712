import sitemap from "@quasibit/eleventy-plugin-sitemap";

export default function (config) {
  config.addPlugin(sitemap, { sitemap: { hostname: "https://www.lantern.example" } });
  return { dir: { input: "src", output: "out" } };
}
