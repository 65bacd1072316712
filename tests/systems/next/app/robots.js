export default function robots() {
  return { rules: { userAgent: "*", allow: "/" }, sitemap: ["https://www.lantern.example/sitemap.xml", "https://www.lantern.example/products/sitemap/0.xml"] };
}
