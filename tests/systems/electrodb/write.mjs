import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Entity } from "electrodb";

import { PAGES, PROBES, pages, probe } from "./content.mjs";

const client = new DynamoDBClient();
// It has no type for times: code of the user's turns them into texts.
const time = { type: "string" };
const entity = (table, entity, id, attributes) => new Entity({
  model: { entity, version: "1", service: "lantern" },
  attributes: { [id]: { type: "string", required: true }, ...attributes },
  indexes: { primary: { pk: { field: "pk", composite: [id] }, sk: { field: "sk", composite: [] } } },
}, { client, table });
const Page = entity(PAGES, "page", "slug", {
  title: { type: "string" }, state: { type: "string" }, hidden: { type: "boolean" }, summary: { type: "string" }, canonical: { type: "string" },
  modified: time, expires: time, priority: { type: "number" }, position: { type: "number" }, tags: { type: "set", items: "string" },
  images: { type: "list", items: { type: "map", properties: { src: { type: "string" }, caption: { type: "string" } } } },
  seo: { type: "map", properties: { noindex: { type: "boolean" } } },
});
const Value = entity(PROBES, "value", "kind", {
  absent: { type: "string" }, yes: { type: "boolean" }, no: { type: "boolean" }, nothing: { type: "string" }, blank: { type: "string" },
  words: { type: "set", items: "string" }, no_words: { type: "set", items: "string" }, steps: { type: "list", items: { type: "string" } },
  share: { type: "number" }, count: { type: "number" }, nested: { type: "map", properties: { title: { type: "string" } } },
});

for (const { canonical, tags, ...page } of pages()) {
  // A text is not null here, and a set is not empty.
  const texts = { modified: page.modified?.toISOString(), expires: page.expires?.toISOString(), tags: tags?.length ? tags : undefined };
  await Page.put({ ...page, ...texts }).go();
}
await probe((kind, attributes) => Value.put({ kind, ...attributes, words: attributes.words && [...attributes.words],
  no_words: attributes.no_words && [...attributes.no_words] }).go(), ["instant"]);
