import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createBubblewrapBackend } from "../../../src/sandbox/bubblewrap/backend.ts";
import { createEgress } from "../../../src/sandbox/egress/egress.ts";
import type { Sandbox, SandboxBackend } from "../../../src/sandbox/sandbox.ts";
import { closedFolder, dataFolder, firstOutput, output } from "../two-threads.ts";
import { type StandIn, standIn } from "./internet.ts";
import { countAttacks } from "../../attacks.ts";

const missing = ["socat", "nsenter", "curl", "openssl", "git"].filter(
  (program) => !existsSync(`/usr/bin/${program}`),
);
const token = "Bearer canary-4711";

describe.skipIf(missing.length > 0)(
  `commands with a way out${missing.length > 0 ? ` (skipped: ${missing.join(", ")} not installed)` : ""}`,
  () => {
    const dataDir = dataFolder();
    const repositories = closedFolder();
    const log: string[] = [];
    let names: Record<string, string[]>;
    let world: StandIn;
    let backend: SandboxBackend;
    let sandbox: Sandbox;
    let time = 0;

    beforeAll(async () => {
      names = {
        "listed.example": ["93.184.216.34"],
        "below.listed.example": ["93.184.216.34"],
        "api.example": ["93.184.216.35"],
        "mixed.example": ["10.0.0.1", "93.184.216.36"],
        "inside.example": [
          ...["169.254.169.254", "127.0.0.1", "10.0.0.1", "::1", "fe80::1", "fd00:ec2::254"],
          // IPv4 within IPv6: mapped, NAT64, 6to4, Teredo.
          ...["::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:7f00:1::1", "2001:0:7f00:1::"],
        ],
        "turning.example": ["93.184.216.38"],
        "unlisted.example": ["93.184.216.37"],
        "false.example": ["93.184.216.39"],
      };
      world = await standIn(names, {
        unproven: ["false.example"],
        repositories: { folder: repositories, authorization: token },
      });
      const egress = createEgress({
        rules: {
          allow: [
            "gone.example",
            "listed.example",
            "*.listed.example",
            "inside.example",
            "mixed.example",
            "turning.example",
          ],
          channels: { "local:w:api": ["api.example", "false.example"] },
          credentials: ["api.example", "false.example"].map((host) => ({
            host,
            header: "authorization",
            value: token,
          })),
        },
        limits: { connections: 4, bytesPerDay: 10_000_000 },
        dialer: world.dialer,
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
      rmSync(repositories, { recursive: true });
    });

    const curl = (url: string, more = "") =>
      output(sandbox, `curl -sS --insecure --max-time 10 -w ' %{http_connect}' ${more} ${url} 2>&1`);

    test("reach a listed host over TLS of their own, at the address that was checked", async () => {
      expect(await curl("https://listed.example/x")).toBe("hello from listed.example\n 200");
      expect(await curl("https://below.listed.example/")).toContain("hello");
      expect(world.dialled).toEqual(["93.184.216.34:443", "93.184.216.34:443"]);
      expect(world.resolved).toEqual(["listed.example", "below.listed.example"]);
      const line = /^egress of local:w:c:1: CONNECT listed\.example:443: closed after \d+ bytes$/m;
      await expect.poll(() => log.join("\n")).toMatch(line);
    });

    test("reach no other host, name or address", async (context) => {
      countAttacks(context, 5);
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
      expect(log.filter((line) => line.includes("is not on the list"))).toHaveLength(5);
    });

    test("reach nothing private, whatever a listed name resolves to", async () => {
      expect(await curl("https://inside.example/")).toMatch(/403/);
      expect(log.join("\n")).toContain("inside.example is at a private address");
      expect(await curl("https://mixed.example/")).toContain("hello");
      expect(world.dialled).toEqual(["93.184.216.36:443"]);
      expect(await curl("https://gone.example/")).toMatch(/502/);
    });

    test("reach no address that is written as one, in whatever way", async (context) => {
      countAttacks(context, 4);
      for (const target of ["[::1]", "[::ffff:169.254.169.254]", "2130706433", "0x7f.1"]) {
        const request = `CONNECT ${target}:443 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n`;
        const ask = `exec 3<>/dev/tcp/127.0.0.1/3128; printf '${request}' >&3; head -n 1 <&3`;
        expect(await output(sandbox, ask)).toContain("403");
      }
      expect([...world.resolved, ...world.dialled]).toEqual([]);
    });

    test("reach nothing private when a name that was public turns to it", async () => {
      expect(await curl("https://turning.example/")).toContain("hello");
      names["turning.example"] = ["127.0.0.1"];
      expect(await curl("https://turning.example/")).toMatch(/403/);
      // Each connection is looked up once, and goes to what was looked up.
      expect(world.resolved).toEqual(["turning.example", "turning.example"]);
      expect(world.dialled).toEqual(["93.184.216.38:443"]);
    });

    test("reach nothing else by a redirect: what follows it is a new connection", async () => {
      const seen = await curl("https://listed.example/redirect?https://unlisted.example/", "-L");
      expect(seen).toMatch(/403/);
      expect(await curl("https://listed.example/redirect?https://inside.example/", "-L")).toMatch(/403/);
      expect(world.dialled).toEqual(["93.184.216.34:443", "93.184.216.34:443"]);
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
        "for i in 1 2 3 4; do exec {held}<>/dev/tcp/127.0.0.1/3128; done; curl -sS --max-time 0.3 https://listed.example/ 2>&1";
      expect(await output(sandbox, command)).toMatch(/timed out/);
      expect(await curl("https://listed.example/")).toContain("hello");
    });

    test("may move so many bytes a day", async () => {
      const large = "https://listed.example/large -o /dev/null";
      for (let count = 0; count < 3; count += 1) expect(await curl(large)).toBe("200");
      expect(await curl(large)).not.toBe("200");
      expect(await curl("https://listed.example/")).toMatch(/429/);
      expect(log.join("\n")).toContain("used up its bytes of today");
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

      test("clone and push with git under the usual address of the host", async () => {
        const bare = join(repositories, "team/repo.git");
        execFileSync("git", ["init", "-q", "--bare", "-b", "main", bare]);
        const work = `git clone -q https://api.example/team/repo.git repo 2>/dev/null; cd repo && git checkout -q -B main &&
          head -c 2000000 /dev/urandom >large && git add large && git commit -qm "From the sandbox" &&
          git push -q origin main && git fetch origin && git log --format=%s origin/main`;
        expect(await output(api, work)).toBe("From the sandbox");
        const subjects = ["--git-dir", bare, "-c", "safe.directory=*", "log", "--format=%s", "main"];
        expect(execFileSync("git", subjects, { encoding: "utf8" })).toBe("From the sandbox\n");
        expect(world.requests.every(({ headers }) => headers.authorization === token)).toBe(true);
      });

      test("do not give it to whom a redirect leads to", async () => {
        const away = "http://api.example/redirect?http://listed.example/";
        expect(await output(api, `curl -sS -L ${away}`)).toMatch(/only https is open/);
        await output(api, "curl -sS -L --insecure 'http://api.example/redirect?https://listed.example/'");
        expect(world.requests.map(({ headers }) => [headers.host, headers.authorization])).toEqual([
          ["api.example", token],
          ["api.example", token],
          ["listed.example", undefined],
        ]);
      });

      test("do not give it to who cannot prove to be the host", async () => {
        expect(await output(api, "curl -sS http://false.example/")).toMatch(/did not answer over TLS/);
        expect(world.requests).toEqual([]);
        expect(world.dialled).toEqual(["93.184.216.39:443"]);
      });

      test("pay for what they hide in headers", async () => {
        const command = `for i in 1 2 3; do curl -sS -o /dev/null -H "x: $(head -c 10000 /dev/zero | tr '\\0' x)" http://api.example/; done`;
        await output(api, command);
        const spent = log.flatMap((line) => /closed after (\d+) bytes/.exec(line)?.[1] ?? []).map(Number);
        expect(Math.min(...spent)).toBeGreaterThan(10_000);
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
