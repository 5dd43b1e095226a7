import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createBubblewrapBackend } from "../../../src/sandbox/bubblewrap/backend.ts";
import { createEgress } from "../../../src/sandbox/egress/egress.ts";
import type { EgressRepository, PushCommand } from "../../../src/sandbox/egress/repository.ts";
import type { Sandbox, SandboxBackend } from "../../../src/sandbox/sandbox.ts";
import { countAttacks } from "../../attacks.ts";
import { closedFolder, dataFolder, output } from "../two-threads.ts";
import { type StandIn, standIn } from "./internet.ts";

const missing = ["socat", "nsenter", "openssl", "git", "curl"].filter(
  (program) => !existsSync(`/usr/bin/${program}`),
);
const good = "Basic Y2FuYXJ5OmdpdC00NzEx";

describe.skipIf(missing.length > 0)("a thread's repositories", () => {
  const dataDir = dataFolder();
  const folder = closedFolder();
  const log: string[] = [];
  const asked: (string | undefined)[] = [];
  let tokens: string[] = [];
  let granted: PushCommand | undefined;
  let world: StandIn;
  let backend: SandboxBackend;
  let sandbox: Sandbox;

  beforeAll(async () => {
    world = await standIn(
      { "git.example": ["10.1.2.3"], "listed.example": ["93.184.216.34"] },
      { repositories: { folder, authorization: good } },
    );
    for (const name of ["shop", "other"]) {
      const path = join(folder, "team", `${name}.git`);
      execFileSync("git", ["init", "-q", "--bare", "-b", "main", path]);
      execFileSync("git", ["-C", path, "config", "http.receivepack", "true"]);
      const empty = execFileSync("git", ["-C", path, "hash-object", "-t", "tree", "-w", "--stdin"], {
        input: "",
      });
      const commit = execFileSync(
        "git",
        ["-C", path, "commit-tree", "-m", "first", empty.toString().trim()],
        {
          env: { ...process.env, ...author },
        },
      );
      execFileSync("git", ["-C", path, "update-ref", "refs/heads/main", commit.toString().trim()]);
    }
    const shop: EgressRepository = {
      name: "shop",
      url: new URL("https://git.example/team/shop.git"),
      async authorize(refused) {
        asked.push(refused);
        if (refused !== undefined) tokens.shift();
        return { ok: true, value: tokens[0] ?? "none" };
      },
      refusePush: (command) =>
        granted && (!command || (command.ref === granted.ref && command.after === granted.after))
          ? undefined
          : "push with the tool open_pull_request",
    };
    const egress = createEgress({
      rules: { allow: ["listed.example"], channels: {}, credentials: [] },
      repositoriesOf: (thread) => (thread.startsWith("local:w:c:") ? [shop] : []),
      limits: { connections: 8, bytesPerDay: 100_000_000 },
      dialer: world.dialer,
      log: (line) => log.push(line),
    });
    backend = createBubblewrapBackend({ dataDir, egress });
    sandbox = await backend.open("local:w:c:1");
  });
  beforeEach(() => {
    tokens = [good];
    granted = undefined;
    for (const list of [log, asked, world.requests]) list.length = 0;
  });
  afterAll(async () => {
    await backend.close();
    await world.close();
    expect(readdirSync(join(dataDir, "proxies"))).toEqual([]);
    for (const path of [dataDir, folder]) rmSync(path, { recursive: true });
  });

  const run = (command: string) => output(sandbox, `${command} 2>&1`);
  const refsOf = (name: string) =>
    execFileSync("git", ["-C", join(folder, "team", `${name}.git`), "for-each-ref", "--format=%(refname)"])
      .toString()
      .trim()
      .split("\n");

  test("are cloned under each of their names, also at a private address, with a token that stays outside", async () => {
    for (const [index, address] of [
      "http://git.example/team/shop.git",
      "https://git.example/team/shop",
      "git@git.example:team/shop.git",
    ].entries()) {
      expect(await run(`git clone -q ${address} clone${index} && git -C clone${index} log --format=%s`)).toBe(
        "first",
      );
    }
    const seen = await run(
      "env; cat clone0/.git/config; git -C clone0 config -l; cat /proc/*/environ /proc/*/cmdline",
    );
    expect(seen).not.toContain("Y2FuYXJ5");
    expect(log.join("\n")).not.toContain("Y2FuYXJ5");
    expect(world.requests.every(({ headers }) => headers.authorization === good)).toBe(true);
  });

  test("are all that is reached of their host, and only by git", async (context) => {
    countAttacks(context, 6);
    expect(await run("git ls-remote http://git.example/team/other.git")).toMatch(/403/);
    expect(await run("git ls-remote http://git.example/team/shop.git/../other.git")).toMatch(/403/);
    expect(await run("git ls-remote http://git.example/team/shop%2e%2e/other.git")).toMatch(/403/);
    for (const path of ["team/shop.git/config", "api/v3/user", "team/shop.git/info/refs"]) {
      expect(await run(`curl -s http://git.example/${path}`)).toContain("only https is open");
    }
    expect(await run("curl -sk -w '%{http_connect}' https://git.example/")).toMatch(/403$/);
    expect(world.requests).toEqual([]);
  });

  test("of a channel are out of another's reach", async () => {
    const elsewhere = await backend.open("local:w:d:1");
    expect(await output(elsewhere, "git ls-remote http://git.example/team/shop.git 2>&1")).toMatch(/403/);
    expect(world.requests).toEqual([]);
  });

  test("take a second token where the host refuses the first, and say so where there is none", async () => {
    tokens = ["Basic b2xkOm9sZA==", good];
    expect(await run("git ls-remote http://git.example/team/shop.git")).toContain("refs/heads/main");
    expect(asked.slice(0, 2)).toEqual([undefined, "Basic b2xkOm9sZA=="]);
    tokens = ["Basic b2xkOm9sZA==", "Basic YWxzbzpvbGQ="];
    expect(await run("git ls-remote http://git.example/team/shop.git")).toContain("ask the operator");
  });

  describe("take a push", () => {
    const zero = "0".repeat(40);
    const commit = async (name: string) => {
      await run(
        `git clone -q http://git.example/team/shop.git ${name}; cd ${name}; echo ${name} > file; git add file; git commit -qm ${name}`,
      );
      return await output(sandbox, `git -C ${name} rev-parse HEAD`);
    };

    test("never without its permission, and the refusal says what to do", async (context) => {
      countAttacks(context, 2);
      await commit("a");
      expect(await run("git -C a push origin HEAD:refs/heads/heddle/a")).toContain(
        "push with the tool open_pull_request",
      );
      expect(await run("git -C a push origin HEAD:main")).toContain("push with the tool");
      expect(refsOf("shop")).toEqual(["refs/heads/main"]);
    });

    test("of that commit to that branch alone while it is permitted", async (context) => {
      countAttacks(context, 6);
      const after = await commit("b");
      granted = { before: zero, after, ref: "refs/heads/heddle/b" };
      await run("cd b; echo more > more; git add more; git commit -qm more");
      for (const refspec of [
        "HEAD:refs/heads/heddle/b",
        `${after}:main`,
        ":main",
        `${after}:refs/heads/heddle/b ${after}:refs/heads/main`,
        `${after}:refs/tags/v1`,
      ]) {
        expect(await run(`git -C b push origin ${refspec}`)).toMatch(/403/);
      }
      const line = `${zero} ${after} refs/heads/main\\0 report-status`;
      const body = `printf '%04x${line}0000' ${4 + 40 + 1 + 40 + 1 + "refs/heads/main".length + 1 + " report-status".length}`;
      const gzipped = `${body} | gzip | curl -s --data-binary @- -H 'Content-Encoding: gzip' http://git.example/team/shop.git/git-receive-pack`;
      expect(await run(gzipped)).toContain("compressed");
      expect(refsOf("shop")).toEqual(["refs/heads/main"]);

      expect(await run(`git -C b push -q origin ${after}:refs/heads/heddle/b && echo pushed`)).toBe("pushed");
      expect(refsOf("shop")).toEqual(["refs/heads/heddle/b", "refs/heads/main"]);
    });

    test("of a size for which git asks first whether it is signed in", async () => {
      await run(
        "git clone -q http://git.example/team/shop.git large; cd large; head -c 3000000 /dev/urandom > file; git add file; git commit -qm large",
      );
      const after = await output(sandbox, "git -C large rev-parse HEAD");
      granted = { before: zero, after, ref: "refs/heads/heddle/large" };
      expect(await run("git -C large push -q origin HEAD:refs/heads/heddle/large && echo pushed")).toBe(
        "pushed",
      );
    });
  });
});

const author = {
  GIT_AUTHOR_NAME: "A",
  GIT_AUTHOR_EMAIL: "a@example.com",
  GIT_COMMITTER_NAME: "A",
  GIT_COMMITTER_EMAIL: "a@example.com",
};
