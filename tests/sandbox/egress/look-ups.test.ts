import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { publicDialer } from "../../../src/sandbox/egress/dialer.ts";
import { createEgress } from "../../../src/sandbox/egress/egress.ts";
import { createLookUps } from "../../../src/sandbox/egress/look-ups.ts";

/** Servers of names that answer when they are told to. */
function slowServers() {
  const asked: string[] = [];
  const open = new Map<string, PromiseWithResolvers<string[]>>();
  return {
    asked,
    lookUp(host: string) {
      asked.push(host);
      const answer = Promise.withResolvers<string[]>();
      open.set(host, answer);
      return answer.promise;
    },
    answer: (host: string) => open.get(host)?.resolve([`address of ${host}`]),
    fail: (host: string) => open.get(host)?.reject(new Error("ENOTFOUND")),
  };
}

const limits = { withinMs: 60_000, mostNames: 3 };

test("Names that threads ask for are looked up one at a time, each thread in its turn", async () => {
  const servers = slowServers();
  const resolve = createLookUps(servers.lookUp, limits);
  const first = ["a1", "a2", "a3"].map((name) => resolve(name, "a"));
  const other = resolve("b1", "b");
  expect(servers.asked).toEqual(["a1"]);
  servers.answer("a1");
  expect(await first[0]).toEqual(["address of a1"]);
  await expect.poll(() => servers.asked).toEqual(["a1", "b1"]);
  servers.fail("b1");
  await expect(other).rejects.toThrow("ENOTFOUND");
  await expect.poll(() => servers.asked).toEqual(["a1", "b1", "a2"]);
  servers.answer("a2");
  await expect.poll(() => servers.asked).toEqual(["a1", "b1", "a2", "a3"]);
  servers.answer("a3");
  expect(await Promise.all(first)).toHaveLength(3);
  // And again, when nothing was left to do.
  const later = resolve("a1", "a");
  servers.answer("a1");
  expect(await later).toEqual(["address of a1"]);
});

test("A thread that asks for a name again shares the answer, and waits for so many names at most", async () => {
  const servers = slowServers();
  const resolve = createLookUps(servers.lookUp, limits);
  const same = [resolve("a1", "a"), resolve("a1", "a")];
  for (const name of ["a2", "a3"]) void resolve(name, "a");
  await expect(resolve("a4", "a")).rejects.toThrow("too many names");
  servers.answer("a1");
  expect(await Promise.all(same)).toEqual([["address of a1"], ["address of a1"]]);
  void resolve("a4", "a");
  await expect.poll(() => servers.asked).toEqual(["a1", "a2"]);
});

test("What is not found in time is given up, and is looked up no more", async () => {
  const servers = slowServers();
  const resolve = createLookUps(servers.lookUp, { ...limits, withinMs: 50 });
  const late = [resolve("a1", "a"), resolve("a2", "a"), resolve("b1", "b")];
  for (const each of late) await expect(each).rejects.toThrow("was not found within 50 ms");
  const next = resolve("a3", "a");
  // The first one cannot be ended, and nothing else begins before it has.
  expect(servers.asked).toEqual(["a1"]);
  servers.answer("a1");
  await expect.poll(() => servers.asked).toEqual(["a1", "a3"]);
  servers.answer("a3");
  expect(await next).toEqual(["address of a3"]);
});

test("Tunnels of a sandbox to many names are looked up for its thread, behind another one's that came later", async () => {
  const servers = slowServers();
  const wanted: string[] = [];
  const resolve = createLookUps(servers.lookUp);
  const folder = mkdtempSync(join(tmpdir(), "heddle-look-ups-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const egress = createEgress({
    rules: { allow: ["*.example"], channels: {}, credentials: [] },
    limits: { connections: 64, bytesPerDay: 1e9 },
    log: () => {},
    dialer: {
      ...publicDialer,
      resolve(host, thread = "nobody") {
        wanted.push(`${host} for ${thread}`);
        return resolve(host, thread);
      },
    },
  });
  const proxies = await Promise.all(["one", "other"].map((thread) => egress.listen(thread, folder)));
  onTestFinished(() => Promise.all(proxies.map((proxy) => proxy.close())).then(() => undefined));
  const [one, other] = proxies.map(({ socket }) => (name: string) => {
    const client = connect(socket);
    client.on("error", () => {}).write(`CONNECT ${name}.example:443 HTTP/1.1\r\n\r\n`);
    onTestFinished(() => void client.destroy());
  });
  for (let index = 0; index < 32; index += 1) one?.(`n${index}`);
  await expect.poll(() => wanted).toHaveLength(32);
  other?.("last");
  await expect.poll(() => wanted).toContain("last.example for other");
  expect(servers.asked).toHaveLength(1);
  servers.fail(servers.asked[0] ?? "");
  await expect.poll(() => servers.asked.slice(1)).toEqual(["last.example"]);
});
