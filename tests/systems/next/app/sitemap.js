const site = "https://www.lantern.example";

export default function sitemap() {
  return [
    { url: `${site}/`, lastModified: new Date("2026-03-01T10:20:30.500Z"), images: [`${site}/soup.jpg`], alternates: { languages: { en: `${site}/`, de: `${site}/de/` } } },
    { url: `${site}/café`, lastModified: "2026-03", changeFrequency: "weekly", priority: 0.8 },
    { url: `${site}/about?a=1&b=2`, lastModified: "2026-03-01" },
  ];
}
