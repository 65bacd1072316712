import dynamoose from "dynamoose";

import { ENDPOINT, PAGES, PROBES, pages, probe } from "./content.mjs";

dynamoose.aws.ddb.local(ENDPOINT);
const model = (name, attributes) => dynamoose.model(name, new dynamoose.Schema({ id: { type: String, hashKey: true }, ...attributes }), {
  create: false, waitForActive: false,
});
const Page = model(PAGES, {
  slug: String, title: String, state: String, hidden: Boolean, summary: String, canonical: String, modified: Date, expires: Date,
  priority: Number, position: Number, tags: { type: Set, schema: [String] },
  images: { type: Array, schema: [{ type: Object, schema: { src: String, caption: String } }] },
  seo: { type: Object, schema: { noindex: Boolean } },
});
const Value = model(PROBES, {
  kind: String, absent: String, instant: Date, yes: Boolean, no: Boolean, nothing: [String, dynamoose.type.NULL], blank: String,
  words: { type: Set, schema: [String] }, no_words: { type: Set, schema: [String] }, steps: { type: Array, schema: [String] },
  share: Number, count: Number, nested: { type: Object, schema: { title: String } },
});

for (const { canonical, tags, ...page } of pages()) {
  // A text is not null here, and a set is not empty.
  await Page.create({ id: page.slug, ...page, ...(tags?.length && { tags: new Set(tags) }) });
}
await probe((id, attributes) => Value.create({ id, kind: id, ...attributes }));
