// The document client, as it is by default: no times, which code of the user's turns into texts.
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, PutCommand } from "@aws-sdk/lib-dynamodb";

import { PAGES, PROBES, pages, probe } from "./content.mjs";

const client = DynamoDBDocumentClient.from(new DynamoDBClient());
const put = (TableName, Item) => client.send(new PutCommand({ TableName, Item }));

for (const page of pages()) {
  const item = { id: page.slug, ...page, modified: page.modified?.toISOString(), expires: page.expires?.toISOString() };
  await put(PAGES, { ...item, tags: page.tags?.length ? new Set(page.tags) : null });
}
await probe((id, attributes) => put(PROBES, { id, kind: id, ...attributes }));
