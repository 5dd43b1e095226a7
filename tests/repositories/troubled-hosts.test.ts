import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startTroubledRelay, type Trouble, type TroubledRelay } from "../fakes/troubled-relay.ts";
import { bounded } from "../faults/extent.ts";
import { openSetting, type Setting, token } from "./setting.ts";

const missing = ["socat", "nsenter", "git"].filter((program) => !existsSync(`/usr/bin/${program}`));
const open = { repository: "shop" };
/** git gives up on a mirror's host after half a minute, on a thread's after a minute; the rest is a machine under load. */
const longestMs = 130_000;

interface Place {
  setting: Setting;
  relay: TroubledRelay;
  clone(): Promise<{ status: string; text: string; ms: number; sh: (command: string) => Promise<string> }>;
  close(): Promise<void>;
}

async function openPlace(): Promise<Place> {
  const setting = await openSetting({ mirrorBytes: 1e9 });
  setting.github.addRepository("acme/large", { data: randomBytes(200_000).toString("base64") });
  setting.github.addToken(token, ["acme/large"]);
  const relay = await startTroubledRelay(setting.github.port);
  return {
    ...{ setting, relay },
    async clone() {
      const url = `http://git.example:${relay.port}/acme/large`;
      const { use, sh } = await setting.thread({ settings: { url } });
      const startedAt = performance.now();
      const { status, text } = await use("open_repository", open);
      return { status, text, ms: performance.now() - startedAt, sh };
    },
    async close() {
      await setting.close();
      await relay.close();
    },
  };
}

/** As if nobody had asked for a while. */
function age({ setting }: Place): void {
  const root = join(setting.dataDir, "mirrors");
  for (const key of readdirSync(root).filter((name) => /^\w{32}$/.test(name))) {
    utimesSync(join(root, key, "fresh"), 0, 0);
  }
}

/** Within the answer that carries the repository. */
const inTheMiddle = 60_000;

describe.skipIf(missing.length > 0)("a host that breaks off", () => {
  let place: Place;
  beforeEach(async () => {
    place = await openPlace();
  });
  afterEach(() => place.close());

  test("in the middle of a mirror costs the mirror and no clone, of whoever waits", async () => {
    const { relay, clone } = place;
    relay.trouble = { kind: "breaks", afterBytes: inTheMiddle };
    const clones = [clone(), clone(), clone()];
    await expect
      .poll(() => place.setting.log.join("\n"), { timeout: 30_000 })
      .toContain("has no mirror here for now");
    relay.trouble = { kind: "none" };
    for (const { status, sh } of await Promise.all(clones)) {
      // One that had begun by then is told; what is there is whole, or nothing.
      expect(await sh("git -C shop fsck 2>&1; ls -A | grep -v '^shop$'")).toBe(
        status === "ok" ? "" : expect.stringContaining("shop"),
      );
    }
    expect((await clone()).status).toBe("ok");
  });

  test("each time is told to all who wait, and leaves nothing in their workspaces", async () => {
    const { relay, clone } = place;
    relay.trouble = { kind: "breaks", afterBytes: inTheMiddle };
    for (const { status, text, ms, sh } of await Promise.all([clone(), clone(), clone()])) {
      expect(status).toBe("error");
      expect(text).toMatch(/acme\/large was not opened: .*(early EOF|RPC failed|unexpected)/);
      expect(ms).toBeLessThan(60_000);
      expect(await sh("ls -A")).toBe("");
    }
  });

  test("while a mirror is brought up to date leaves the mirror as it is, and is told by the clone", async () => {
    const { relay, clone, setting } = place;
    expect((await clone()).status).toBe("ok");
    relay.trouble = { kind: "breaks", afterBytes: 0 };
    const told = await clone();
    expect(told.text).toMatch(/was not opened: .*unable to access/);
    expect(await told.sh("ls -A")).toBe("");
    age(place);
    expect((await clone()).status).toBe("error");
    relay.trouble = { kind: "none" };
    expect((await clone()).status).toBe("ok");
    expect(setting.log.join("\n")).not.toContain("was broken and is made anew");
  });
});

describe.skipIf(missing.length > 0 || bounded)("a host that is", () => {
  test.concurrent.each<[string, Trouble]>([
    ["silent", { kind: "silent" }],
    ["silent from the middle on", { kind: "stalls", afterBytes: inTheMiddle }],
    ["slower than anybody waits for", { kind: "drips", afterBytes: inTheMiddle, everyMs: 100 }],
  ])(
    "%s is given up in bounded time, for all who wait, and cloned from when it is well",
    async (_, trouble) => {
      const place = await openPlace();
      try {
        const { relay, clone } = place;
        relay.trouble = trouble;
        const early = [clone(), clone()];
        await expect.poll(relay.connections, { timeout: 30_000 }).toBeGreaterThan(0);
        const told = await Promise.all([...early, clone()]);
        for (const { status, text, ms, sh } of told) {
          expect(status).toBe("error");
          expect(text).toMatch(/acme\/large was not opened: ./);
          expect(ms).toBeLessThan(longestMs);
          expect(await sh("ls -A")).toBe("");
        }
        relay.trouble = { kind: "none" };
        expect((await clone()).status).toBe("ok");
      } finally {
        await place.close();
      }
    },
    300_000,
  );
});
