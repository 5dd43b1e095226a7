/** The console's page as browsers get it; tests/browser uses it. */
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { call } from "../requests.ts";
import { startConsole } from "../start-console.ts";
import { readPage } from "../../../../src/adapters/console/server/page.ts";

const scripts = [...(await readPage())].filter(([address]) => address.endsWith(".js"));

test("every module is served as JavaScript and imports nothing but other modules of the page", () => {
  const addresses = new Set(scripts.map(([address]) => address));
  expect(addresses).toContain("/main.js");
  // Packages' files are whole in themselves; their code has words that look like imports.
  const own = scripts.filter(([address]) => !address.startsWith("/vendor/"));
  const missing = own.flatMap(([address, reply]) =>
    [...String(reply({}).body).matchAll(/(?<!-)\b(?:from|import\() ?"([^"]+)"/g)]
      .map(([, specifier = ""]) => new URL(specifier, `http://console${address}`).pathname)
      .filter((target) => !addresses.has(target))
      .map((target) => `${address} -> ${target}`),
  );
  expect(missing).toEqual([]);
});

test("nobody is warned that Node's stripping of types is experimental", async () => {
  const warnings: Error[] = [];
  const collect = (warning: Error) => warnings.push(warning);
  process.on("warning", collect);
  for (const [, reply] of await readPage()) reply({});
  // Warnings are emitted with the next tick.
  await new Promise(setImmediate);
  process.off("warning", collect);
  expect(warnings).toEqual([]);
});

test("a file is sent compressed to whoever takes that, and not again while it is the same", async () => {
  const file = (await readPage()).get("/main.js");
  const plain = file?.({});
  const packed = file?.({ "accept-encoding": "br, gzip" });
  expect(packed?.headers).toMatchObject({ "content-encoding": "gzip", etag: plain?.headers?.["etag"] });
  expect(gunzipSync(Buffer.from(packed?.body ?? ""))).toEqual(plain?.body);
  const again = file?.({ "if-none-match": plain?.headers?.["etag"] ?? "" });
  expect(again).toMatchObject({ status: 304 });
  expect(again?.body).toBeUndefined();
  expect(file?.({ "if-none-match": '"another"' })?.status).toBe(200);
  // As a proxy may pass it on, beside others.
  const bare = (plain?.headers?.["etag"] ?? "").replace("W/", "");
  for (const known of [bare, `"another", ${bare}`, `W/"another",W/${bare}`, "*"])
    expect([known, file?.({ "if-none-match": known })?.status]).toEqual([known, 304]);
});

test("every file of the page is compressed, has a tag of its own content, and is as long as it says", async () => {
  await using console = await startConsole();
  const tags = new Map<string, string>();
  for (const address of (await readPage()).keys()) {
    const headers = { "accept-encoding": "gzip" };
    const [got, head] = [
      await call(console.url, address, { headers }),
      await call(console.url, address, { headers, method: "HEAD" }),
    ];
    expect([address, got.status, head.status, head.body]).toEqual([address, 200, 200, ""]);
    const { "content-encoding": encoding, "content-length": length, etag = "", vary } = got.headers;
    expect([address, encoding, vary]).toEqual([address, "gzip", "accept-encoding"]);
    expect(Number(length)).toBeGreaterThan(0);
    const { date: _date, ...rest } = got.headers;
    expect(head.headers).toMatchObject(rest);
    expect([address, tags.get(etag)]).toEqual([address, undefined]);
    tags.set(etag, address);
    const again = await call(console.url, address, { headers: { ...headers, "if-none-match": etag } });
    expect([address, again.status, again.body]).toEqual([address, 304, ""]);
  }
  expect(tags.size).toBeGreaterThan(50);
});
