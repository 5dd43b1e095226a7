import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { defaultLimits } from "../../src/sandbox/limits.ts";
import { plainAddress } from "../../src/sandbox/egress/repository.ts";
import { countAttacks } from "../attacks.ts";
import { openSetting, type Setting, token } from "./setting.ts";

const missing = ["socat", "nsenter", "git"].filter((program) => !existsSync(`/usr/bin/${program}`));
const open = { repository: "shop" };
const files = Object.fromEntries(
  Array.from({ length: 600 }, (_, index) => [`${index % 20}/${index}`, `${index}\n`]),
);
/** Only a clone that was made before its thread asked has it. */
const wasReady = "git -C shop config core.trustctime || echo no";

describe.skipIf(missing.length > 0)("a clone that is ready", () => {
  let setting: Setting;
  beforeEach(async () => {
    setting = await openSetting({ mirrorBytes: 1e9 });
    setting.github.addRepository("acme/large", files);
    setting.github.addToken(token, ["acme/shop", "acme/large"]);
  });
  afterEach(() => setting.close());

  const threadOf = (options: Parameters<Setting["thread"]>[0] = {}) =>
    setting.thread({
      ...options,
      settings: { url: `http://git.example:${setting.github.port}/acme/large`, ...options.settings },
    });
  const keys = () => readdirSync(join(setting.dataDir, "mirrors")).filter((name) => /^\w{32}$/.test(name));
  const listReady = () =>
    keys().flatMap((key) =>
      readdirSync(join(setting.dataDir, "mirrors", key)).filter((name) => name.startsWith("ready-")),
    );
  const becomesReady = () => expect.poll(listReady, { timeout: 30_000 }).not.toEqual([]);
  /** The first thread that clones has one made for the next. */
  async function cloneFirst() {
    await (await threadOf()).use("open_repository", open);
    await becomesReady();
  }

  test("is given to the next thread, which has what it would have without, and is made again", async () => {
    await cloneFirst();
    const [before] = listReady();
    const { use, sh } = await threadOf();
    expect((await use("open_repository", open)).text).toMatch(
      /^acme\/large is in \/workspace\/shop, on main at/,
    );
    expect(await sh(wasReady)).toBe("false");
    await becomesReady();
    await expect.poll(listReady, { timeout: 30_000 }).not.toContain(before);
    const look = [
      "ls -A /workspace",
      "cd shop; git rev-parse HEAD; git status --short --branch; git for-each-ref; git remote -v",
      "git config branch.main.merge; git config branch.main.remote; git fsck 2>&1; ls -A . .git/hooks",
      "find . -path ./.git -prune -o -printf '%p %m %u\\n' | sort | sha256sum; cat .git/objects/info/alternates 2>&1",
      "git ls-files --stage | sha256sum; cat 7/7; echo more > 7/7; git status --short; git commit -qam more; git log --format=%s",
    ].join("; ");
    const plain = await threadOf();
    await plain.sh(`git clone -q http://git.example:${setting.github.port}/acme/large.git shop`);
    expect(await sh(look)).toBe(await plain.sh(look));
  });

  test("is brought up to the host's state, and to the branch that is asked for", async () => {
    const { github } = setting;
    github.git("acme/large", "tag", "nightly", "main");
    await cloneFirst();
    github.git("acme/large", "branch", "release", "main");
    const folder = github.git("acme/large", "rev-parse", "--absolute-git-dir");
    execFileSync("git", ["--git-dir", folder, "fast-import", "--quiet"], {
      input:
        "commit refs/heads/main\ncommitter A <a@example.com> 1700000001 +0000\ndata 6\nsecond\nfrom refs/heads/main^0\nD 7/7\nM 644 inline more\ndata 2\nx\n",
    });
    github.git("acme/large", "tag", "--force", "nightly", "main");
    const { use, sh } = await threadOf();
    await use("open_repository", open);
    expect(await sh(`${wasReady}; git -C shop log -1 --format=%s nightly; ls shop/7/7 shop/more 2>&1`)).toBe(
      "false\nsecond\nls: cannot access 'shop/7/7': No such file or directory\nshop/more",
    );
    await becomesReady();
    const other = await threadOf({ settings: { branch: "release" } });
    expect((await other.use("open_repository", open)).text).toMatch(/ on release at \w+ first/);
    expect(await other.sh(`${wasReady}; git -C shop status --short --branch; cat shop/7/7`)).toBe(
      "false\n## release...origin/release\n7",
    );
  });

  test("goes to one of several threads, and none sees what another does with its own", async (context) => {
    countAttacks(context, 2);
    await cloneFirst();
    const threads = await Promise.all([threadOf(), threadOf({ worker: setting.addWorker() }), threadOf()]);
    await Promise.all(threads.map(({ use }) => use("open_repository", open)));
    const given = await Promise.all(threads.map(({ sh }) => sh(wasReady)));
    expect(given.filter((said) => said === "false")).toHaveLength(1);
    const [first] = threads;
    await first?.sh(
      "cd shop; echo mine > 7/7; for f in .git/objects/pack/*; do chmod u+w $f; echo x >> $f; done",
    );
    await becomesReady();
    const late = await threadOf();
    await late.use("open_repository", open);
    for (const { sh } of [...threads.slice(1), late]) {
      expect(await sh("cd shop; cat 7/7; git status --short; git fsck 2>&1")).toBe("7");
    }
    expect(await late.sh("find /workspace /tmp -links +1 -type f; find shop ! -user $(id -u)")).toBe("");
  });

  test("is kept for as many threads as have asked at once, and for four at most", async () => {
    await cloneFirst();
    const burst = async () => {
      const threads = await Promise.all(Array.from({ length: 5 }, () => threadOf()));
      await Promise.all(threads.map(({ use }) => use("open_repository", open)));
      const said = await Promise.all(threads.map(({ sh }) => sh(wasReady)));
      return said.filter((each) => each === "false").length;
    };
    expect(await burst()).toBeLessThan(4);
    await expect.poll(listReady, { timeout: 60_000 }).toHaveLength(4);
    expect(await burst()).toBeGreaterThanOrEqual(4);
    await expect.poll(listReady, { timeout: 60_000 }).toHaveLength(4);
  });

  test("is not for a thread that has configured git, nor for one without the room", async () => {
    await setting.close();
    const limits = { ...defaultLimits, workspaceInodes: 1_600 };
    setting = await openSetting({ mirrorBytes: 1e9, limits });
    setting.github.addRepository("acme/large", files);
    setting.github.addToken(token, ["acme/large"]);
    await cloneFirst();
    const configured = await threadOf();
    await configured.sh("git config --global core.autocrlf true");
    expect((await configured.use("open_repository", open)).status).toBe("ok");
    expect(await configured.sh(`${wasReady}; od -c shop/7/7 | head -1`)).toBe("no\n0000000   7  \\r  \\n");
    const full = await threadOf();
    await full.sh("for i in $(seq 1000); do : > $i; done");
    await full.use("open_repository", open);
    expect(await full.sh("ls -A | grep -c clone-")).toBe("0");
    expect(listReady()).not.toEqual([]);
  });

  test("is taken away from a command that does nothing with it, and holds no credential", async () => {
    await cloneFirst();
    const found = execFileSync("sh", ["-c", `grep -rlF "$1" "$2" || true`, "sh", token, setting.dataDir]);
    expect(found.toString()).toBe("");
    const { sandbox, sh } = await threadOf();
    const repository = plainAddress({ url: new URL(`http://git.example:${setting.github.port}/acme/large`) });
    const { stdout } = await sandbox.exec({ command: "ls $HEDDLE_READY | wc -l", repository });
    expect(stdout.toString().trim()).toBe("20");
    expect(await sh("ls -A")).toBe("");
    const rest = keys().flatMap((key) => readdirSync(join(setting.dataDir, "mirrors", key)));
    expect(rest.filter((name) => name.startsWith("given-"))).toEqual([]);
  });

  test("is gone with its mirror once the host refuses, and gives nobody anything", async () => {
    await cloneFirst();
    setting.github.revoke(token);
    for (const key of keys()) utimesSync(join(setting.dataDir, "mirrors", key, "fresh"), 0, 0);
    const { use, sh } = await threadOf();
    expect((await use("open_repository", open)).text).toContain("does not accept Heddle's credential");
    expect(await sh("ls -A")).toBe("");
    expect(keys()).toEqual([]);
  });

  test("takes no room that mirrors need, and none is made of few files", async () => {
    await setting.close();
    setting = await openSetting({ mirrorBytes: 4_500_000 });
    setting.github.addRepository("acme/large", files);
    setting.github.addRepository("acme/bulk", { data: randomBytes(2_000_000).toString("base64") });
    setting.github.addToken(token, ["acme/bulk", "acme/large"]);
    await cloneFirst();
    const { use } = await threadOf({
      settings: { url: `http://git.example:${setting.github.port}/acme/bulk` },
    });
    await use("open_repository", open);
    expect(listReady()).toEqual([]);
    expect(keys()).toHaveLength(2);
    expect(setting.log.join("\n")).not.toContain("ready");
  });
});
