#!/usr/bin/env bash
# AWS's document client drops an undefined attribute without a word, and refuses one a level below.
#
# Package: @aws-sdk/lib-dynamodb 3.1169.0, with its default options (removeUndefinedValues is off).
# Guess:   undefined is refused everywhere, as the error says ("Pass options.removeUndefinedValues=true ..."), or nowhere.
# Seen:    as an attribute of the item it is left out and the item is written without an error; in a map and in a list it is refused.
# So:      a misspelled or missing variable loses an attribute of the item silently, although undefined seems to be refused.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund @aws-sdk/lib-dynamodb@3.1169.0 @aws-sdk/client-dynamodb@3.1169.0

cat >write.mjs <<'JS'
import { createServer } from "node:http";

import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, PutCommand } from "@aws-sdk/lib-dynamodb";

let stored;
const server = createServer((request, response) => {
  let body = "";
  request.on("data", (part) => (body += part)).on("end", () => {
    stored = JSON.parse(body).Item;
    response.end("{}");
  });
}).listen(0, "127.0.0.1");
await new Promise((resolve) => server.on("listening", resolve));
const client = DynamoDBDocumentClient.from(new DynamoDBClient({
  endpoint: `http://127.0.0.1:${server.address().port}`, region: "us-east-1", credentials: { accessKeyId: "test", secretAccessKey: "test" },
}));
for (const value of [{ title: undefined }, { seo: { title: undefined } }, { titles: ["a", undefined] }]) {
  try {
    await client.send(new PutCommand({ TableName: "pages", Item: { id: "a", ...value } }));
    console.log(Object.keys(value)[0], "written:", JSON.stringify(stored));
  } catch (error) {
    console.log(Object.keys(value)[0], "refused, and names removeUndefinedValues:", error.message.includes("removeUndefinedValues"));
  }
}
server.close();
client.destroy();
JS
timeout 60 node write.mjs | tee seen
cat >expected <<'TEXT'
title written: {"id":{"S":"a"}}
seo refused, and names removeUndefinedValues: true
titles refused, and names removeUndefinedValues: true
TEXT
diff expected seen || { echo "this has changed" >&2; exit 1; }
