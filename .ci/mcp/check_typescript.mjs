// Connects both generations of the TypeScript SDK to a server, lists, calls, and pages through a search, again after a
// restart of the server. It is run by restarting.py.
//
//     check_typescript.mjs URL

import assert from "node:assert/strict";
import { read, writeSync } from "node:fs";
import { promisify } from "node:util";

const url = new URL(process.argv[2]);

// Waits without blocking, so that the client notices that its connections are closed.
async function restartServer() {
  writeSync(Number(process.env.RESTART_ASK), ".");
  const { bytesRead } = await promisify(read)(Number(process.env.RESTART_DONE), Buffer.alloc(1));
  assert.equal(bytesRead, 1);
}

async function walk(client) {
  const tools = (await client.listTools()).tools;
  const seen = [];
  let page;
  for (let cursor; ; cursor = page.next_cursor) {
    const result = await client.callTool({
      name: "search_reviews",
      arguments: { rating: 5, limit: 40, ...(cursor ? { cursor } : {}) },
    });
    page = result.structuredContent;
    assert.deepEqual(page, JSON.parse(result.content[0].text));
    seen.push(...page.reviews.map((review) => review.id));
    if (page.next_cursor === null) break;
  }
  assert.equal(new Set(seen).size, page.matched);
  assert.equal(seen.length, page.matched);
  const refused = await client.callTool({ name: "search_reviews", arguments: { limit: 1, query: "x".repeat(2000) } });
  assert.equal(refused.isError, true);
  assert.ok((await client.listResources()).resources.length > 0);
  assert.ok((await client.listPrompts()).prompts.length > 0);
  return `${tools.length} tools, ${seen.length} reviews`;
}

{
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const client = new Client({ name: "check", version: "1" });
  const transport = new StreamableHTTPClientTransport(url);
  await client.connect(transport);
  assert.ok(transport.sessionId);
  console.log("sdk 1:", await walk(client));
  await restartServer();
  console.log("sdk 1, after a restart:", await walk(client));
  await transport.terminateSession();
  await client.close();
}

const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
for (const mode of [undefined, "auto", { pin: "2026-07-28" }]) {
  const options = mode === undefined ? {} : { versionNegotiation: { mode } };
  const client = new Client({ name: "check", version: "1" }, options);
  await client.connect(new StreamableHTTPClientTransport(url));
  console.log("client 2,", JSON.stringify(mode ?? "default"), await walk(client));
  await restartServer();
  console.log("  after a restart:", await walk(client));
  await client.close();
}
