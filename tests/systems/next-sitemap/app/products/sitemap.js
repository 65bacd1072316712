export async function generateSitemaps() {
  return [{ id: 0 }, { id: 1 }];
}

export default async function sitemap({ id }) {
  return [{ url: `https://www.lantern.example/products/${await id}`, lastModified: "2026-03-01" }];
}
