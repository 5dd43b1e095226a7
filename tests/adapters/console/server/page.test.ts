/** The console's page as browsers get it; tests/browser uses it. */
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
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
});
