import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createBubblewrapBackend } from "../../../src/sandbox/bubblewrap/backend.ts";
import { createEgress } from "../../../src/sandbox/egress/egress.ts";
import type { Sandbox, SandboxBackend } from "../../../src/sandbox/sandbox.ts";
import { dataFolder, firstOutput, output } from "../ground.ts";
import { type StandIn, standIn } from "./internet.ts";

const missing = ["socat", "nsenter", "curl", "openssl", "git"].filter(
  (program) => !existsSync(`/usr/bin/${program}`),
);
const token = "Bearer canary-4711";

describe.skipIf(missing.length > 0)(
  `commands with a way out${missing.length > 0 ? ` (skipped: ${missing.join(", ")} not installed)` : ""}`,
  () => {
    const dataDir = dataFolder();
    const log: string[] = [];
    let world: StandIn;
    let backend: SandboxBackend;
    let sandbox: Sandbox;
    let time = 0;

    beforeAll(async () => {
      world = await standIn({
        "listed.example": ["93.184.216.34"],
        "below.listed.example": ["93.184.216.34"],
        "api.example": ["93.184.216.35"],
        "mixed.example": ["10.0.0.1", "93.184.216.36"],
        "inside.example": ["169.254.169.254", "127.0.0.1", "::1"],
        "unlisted.example": ["93.184.216.37"],
      });
      const egress = createEgress({
        rules: {
          allow: ["listed.example", "*.listed.example", "inside.example", "mixed.example", "gone.example"],
          channels: { "local:w:api": ["api.example"] },
          credentials: [{ host: "api.example", header: "authorization", value: token }],
        },
        limits: { connections: 4, bytesPerDay: 10_000_000 },
        uplink: world.uplink,
        log: (line) => log.push(line),
        now: () => time,
      });
      backend = createBubblewrapBackend({ dataDir, egress });
      sandbox = await backend.open("local:w:c:1");
    });
    beforeEach(() => {
      time += 86_400_000;
      for (const list of [log, world.dialled, world.resolved, world.requests]) list.length = 0;
    });
    afterAll(async () => {
      await backend.close();
      await world.close();
      expect(readdirSync(join(dataDir, "proxies"))).toEqual([]);
      rmSync(dataDir, { recursive: true });
    });

    const curl = (url: string, more = "") =>
      output(sandbox, `curl -sS --insecure --max-time 10 -w ' %{http_connect}' ${more} ${url} 2>&1`);

    test("reach a listed host over TLS of their own, at the address that was checked", async () => {
      expect(await curl("https://listed.example/x")).toBe("hello from listed.example\n 200");
      expect(await curl("https://below.listed.example/")).toContain("hello");
      expect(world.dialled).toEqual(["93.184.216.34:443", "93.184.216.34:443"]);
      expect(world.resolved).toEqual(["listed.example", "below.listed.example"]);
      expect(log[0]).toMatch(/^egress of local:w:c:1: CONNECT listed\.example:443: closed after \d+ bytes$/);
    });

    test("reach no other host, name or address", async () => {
      for (const target of [
        "unlisted.example",
        "93.184.216.34",
        "127.0.0.1",
        "localhost",
        "xlisted.example",
      ]) {
        expect(await curl(`https://${target}/`, "--noproxy ''")).toMatch(/response 403[\s\S]* 403$/);
      }
      expect(world.resolved).toEqual([]);
      expect(log).toHaveLength(5);
    });

    test("reach nothing private, whatever a listed name resolves to", async () => {
      expect(await curl("https://inside.example/")).toMatch(/403/);
      expect(log).toEqual([expect.stringContaining("inside.example is at a private address")]);
      expect(await curl("https://mixed.example/")).toContain("hello");
      expect(world.dialled).toEqual(["93.184.216.36:443"]);
      expect(await curl("https://gone.example/")).toMatch(/502/);
    });

    test("reach only the ports of the web", async () => {
      expect(await curl("https://listed.example:22/")).toMatch(/403/);
      expect(world.dialled).toEqual([]);
    });

    test("have no way around the proxy", async () => {
      expect(await output(sandbox, "echo >/dev/tcp/93.184.216.34/443")).toMatch(/unreachable/);
      expect(await output(sandbox, "getent hosts listed.example || echo unknown")).toBe("unknown");
      expect(await curl("http://listed.example/")).toMatch(/only https is open/);
      expect(await output(sandbox, "ls -a / /run | grep -c sock")).toBe("0");
    });

    test("have no more than their connections at once", async () => {
      const command =
        "for i in 1 2 3 4; do exec {held}<>/dev/tcp/127.0.0.1/3128; done; curl -sS --max-time 1 https://listed.example/ 2>&1";
      expect(await output(sandbox, command)).toMatch(/timed out/);
      expect(await curl("https://listed.example/")).toContain("hello");
    });

    test("may move so many bytes a day", async () => {
      const large = "https://listed.example/large -o /dev/null";
      for (let count = 0; count < 3; count += 1) expect(await curl(large)).toBe("200");
      expect(await curl(large)).not.toBe("200");
      expect(await curl("https://listed.example/")).toMatch(/403/);
      expect(log.at(-1)).toContain("used up its bytes of today");
      time += 86_400_000;
      expect(await curl("https://listed.example/")).toContain("hello");
    });

    describe("with a credential", () => {
      let api: Sandbox;
      beforeAll(async () => {
        api = await backend.open("local:w:api:1");
      });

      test("ask in plain http, and the proxy signs in over TLS", async () => {
        const command = "curl -sS -H 'Authorization: mine' -d body=1 http://api.example/v1/things?x=1";
        expect(await output(api, command)).toBe("hello from api.example");
        expect(world.requests).toMatchObject([
          {
            method: "POST",
            path: "/v1/things?x=1",
            body: "body=1",
            headers: { authorization: token, host: "api.example" },
          },
        ]);
        expect(world.dialled).toEqual(["93.184.216.35:443"]);
      });

      test("never see its value", async () => {
        const seen = await output(
          api,
          "env; cat /proc/*/environ 2>/dev/null; curl -sSi http://api.example/; cat ~/.gitconfig; git config --list",
        );
        expect(seen).toContain("hello from api.example");
        expect(seen).not.toContain("canary");
        expect(log.join("\n")).not.toContain("canary");
      });

      test("use git with the usual address of the host", async () => {
        await output(api, "git ls-remote https://api.example/team/repo.git");
        expect(world.requests[0]).toMatchObject({
          path: "/team/repo.git/info/refs?service=git-upload-pack",
          headers: { authorization: token },
        });
      });

      test("do not give it to another channel", async () => {
        expect(await curl("http://api.example/")).toMatch(/403|only https/);
        expect(world.requests).toEqual([]);
      });
    });

    test("of a background job and of the calls beside it share the way out, and a stop closes it", async () => {
      const started = await sandbox.start({
        command: "curl -sS --insecure https://listed.example/; sleep 60",
      });
      if (!started.ok) throw new Error(started.message);
      expect(await firstOutput(started.job)).toContain("hello");
      const { commands, survivors } = await sandbox.killAll();
      expect({ commands, survivors }).toEqual({ commands: 1, survivors: 0 });

      expect(await curl("https://listed.example/")).toContain("hello");
    });
  },
);
