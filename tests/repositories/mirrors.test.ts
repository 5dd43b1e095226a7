import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { plainAddress } from "../../src/sandbox/egress/repository.ts";
import { countAttacks } from "../attacks.ts";
import { openSetting, type Setting, token } from "./setting.ts";

const missing = ["socat", "nsenter", "git"].filter((program) => !existsSync(`/usr/bin/${program}`));
const large = randomBytes(200_000).toString("base64");
const open = { repository: "shop" };

/** Answers that carried the repository, and not only what is new. */
const wholeAnswers = ({ github }: Setting) => github.served.filter((bytes) => bytes > 100_000).length;
const mirrorsOf = ({ dataDir }: Setting) =>
  readdirSync(join(dataDir, "mirrors")).filter((name) => /^[0-9a-f]{32}$/.test(name));
/** The newest state of the only mirror. */
function stateOf(setting: Setting): string {
  const [key = ""] = mirrorsOf(setting);
  const folder = join(setting.dataDir, "mirrors", key);
  return join(
    folder,
    readdirSync(folder)
      .filter((name) => name.startsWith("state-"))
      .toSorted()
      .at(-1) ?? "",
  );
}
/** As if nobody had asked for a while. */
function age(setting: Setting): void {
  for (const key of mirrorsOf(setting)) utimesSync(join(setting.dataDir, "mirrors", key, "fresh"), 0, 0);
}

describe.skipIf(missing.length > 0)("the mirror of a repository", () => {
  let setting: Setting;
  beforeEach(async () => {
    setting = await openSetting({ mirrorBytes: 1e9 });
    setting.github.addRepository("acme/large", { "README.md": "# Large\n", data: large });
    setting.github.addToken(token, ["acme/shop", "acme/other", "acme/large"]);
  });
  afterEach(() => setting.close());
  const threadOf = (options: Parameters<Setting["thread"]>[0] = {}) =>
    setting.thread({
      ...options,
      settings: { url: `http://git.example:${setting.github.port}/acme/large`, ...options.settings },
    });

  test("is fetched once for twenty threads at the same time, of two workers", async () => {
    const second = setting.addWorker();
    const threads = await Promise.all(
      Array.from({ length: 20 }, (_, index) => threadOf(index % 2 === 0 ? {} : { worker: second })),
    );
    const texts = await Promise.all(
      threads.map(async ({ use }) => (await use("open_repository", open)).text),
    );
    expect(new Set(texts.map((text) => text.split("\n")[0])).size).toBe(1);
    expect(texts[0]).toMatch(/^acme\/large is in \/workspace\/shop, on main at [0-9a-f]{7} first/);
    expect(wholeAnswers(setting)).toBe(1);
  });

  test("gives a clone that is the same as without it, with what has come and gone since", async () => {
    const { github } = setting;
    github.git("acme/large", "branch", "old", "main");
    github.git("acme/large", "tag", "v1", "main");
    await (await threadOf()).use("open_repository", open);
    github.git("acme/large", "branch", "-D", "old");
    github.git("acme/large", "tag", "-d", "v1");
    github.git("acme/large", "branch", "new", "main");
    github.git("acme/large", "tag", "v2", "main");
    execFileSync(
      "git",
      ["--git-dir", github.git("acme/large", "rev-parse", "--absolute-git-dir"), "fast-import", "--quiet"],
      {
        input:
          "commit refs/heads/main\ncommitter A <a@example.com> 1700000001 +0000\ndata 6\nsecond\nfrom refs/heads/main^0\nM 644 inline more\ndata 2\nx\n",
      },
    );
    const look =
      "cd shop; git rev-parse HEAD; git status --short --branch; git for-each-ref; git remote -v; git config branch.main.merge; git fsck 2>&1; ls -A; cat .git/objects/info/alternates 2>&1";
    const mirrored = await threadOf();
    await mirrored.use("open_repository", open);
    expect(wholeAnswers(setting)).toBe(1);
    const plain = await setting.thread();
    await plain.sh(`git clone -q http://git.example:${github.port}/acme/shop.git`);
    rmSync(join(setting.dataDir, "mirrors"), { recursive: true });
    const later = await threadOf({ id: "local:w:c:plain" });
    await later.sh(`git clone -q http://git.example:${github.port}/acme/large.git shop`);
    expect(await mirrored.sh(look)).toBe(await later.sh(look));
    expect(await mirrored.sh("git -C shop log -1 --format=%s; cat shop/more")).toBe("second\nx");
  });

  test("is asked about with the host each minute, and adds what is new without fetching the rest again", async () => {
    await (await threadOf()).use("open_repository", open);
    setting.github.git("acme/large", "branch", "later", "main");
    const before = stateOf(setting);
    age(setting);
    const { use, sh } = await threadOf();
    await use("open_repository", open);
    expect(await sh("git -C shop branch -r")).toContain("origin/later");
    expect(stateOf(setting)).not.toBe(before);
    expect(readFileSync(join(stateOf(setting), "packed-refs"), "utf8")).toContain(
      "refs/remotes/origin/later",
    );
    expect(wholeAnswers(setting)).toBe(1);
  });

  test("holds nothing but objects and references, whatever the repository holds, and no credential", async (context) => {
    countAttacks(context, 5);
    setting.github.addRepository("acme/hostile", {
      ".gitmodules": '[submodule "x"]\n\tpath = x\n\turl = file:///etc\n',
      ".gitattributes": "* filter=evil diff=evil\n",
      "hooks/post-checkout": "#!/bin/sh\ntouch /workspace/hooked\n",
      "objects/info/alternates": "/etc\n",
      config: "[core]\n\thooksPath = hooks\n",
    });
    setting.github.addToken(token, ["acme/hostile"]);
    const settings = { url: `http://git.example:${setting.github.port}/acme/hostile` };
    const { use, sh } = await setting.thread({ settings });
    expect((await use("open_repository", open)).status).toBe("ok");
    const files = readdirSync(stateOf(setting), { recursive: true, encoding: "utf8" });
    expect(
      files.filter((name) => !/^(pack|pack\/pack-[0-9a-f]+\.(pack|idx)|packed-refs)$/.test(name)),
    ).toEqual([]);
    expect(await sh("ls /workspace; git -C shop config -l")).not.toMatch(/hooked|hookspath = hooks/i);
    const found = execFileSync("sh", ["-c", `grep -rlF "$1" "$2" || true`, "sh", token, setting.dataDir]);
    expect(found.toString()).toBe("");
    expect(setting.log.join("\n")).not.toContain(token);
  });

  test("cannot be written by a thread, nor seen by what else runs there, nor by another channel's", async (context) => {
    countAttacks(context, 4);
    const { use, sh, sandbox } = await threadOf();
    // Whatever the clone can be made to run sees the mirror for as long.
    await sh(
      "mkdir -p .config/git; echo '* filter=evil' > .config/git/attributes; git config --global filter.evil.smudge " +
        "\"sh -c 'ls -d /mirror; chmod u+w /mirror/pack/*; for f in /mirror/pack/*; do echo x >> \\$f; done; touch /mirror/x; cat' 2>> /workspace/said\"",
    );
    const state = (await use("open_repository", open)) && stateOf(setting);
    expect(await sh("cat said")).toMatch(/Read-only file system/);
    for (const name of readdirSync(join(state, "pack")).filter((each) => each.endsWith(".idx"))) {
      execFileSync("git", ["verify-pack", join(state, "pack", name)]);
    }
    expect(readdirSync(state).toSorted()).toEqual(["pack", "packed-refs"]);
    expect(await sh("ls -d /mirror; echo $HEDDLE_MIRROR")).toMatch(/No such file/);
    const address = plainAddress({ url: new URL(`http://git.example:${setting.github.port}/acme/large`) });
    const shown = async (each: typeof sandbox) =>
      (await each.exec({ command: "echo $HEDDLE_MIRROR", repository: address })).stdout.toString().trim();
    expect(await shown(sandbox)).toBe("/mirror");
    const foreign = await setting.thread();
    expect(await shown(foreign.sandbox)).toBe("");
    expect(await shown(await setting.backend.open("slack:T:C:none"))).toBe("");
  });

  test("is gone once the host refuses, and clones nothing any more", async () => {
    await (await threadOf()).use("open_repository", open);
    expect(mirrorsOf(setting)).toHaveLength(1);
    setting.github.revoke(token);
    const { use, sh } = await threadOf();
    const text = (await use("open_repository", open)).text;
    expect(text).toContain("does not accept Heddle's credential");
    expect(await sh("ls -A")).not.toContain("shop");
    age(setting);
    const later = await threadOf();
    expect((await later.use("open_repository", open)).status).toBe("error");
    expect(mirrorsOf(setting)).toEqual([]);
  });

  test("that is broken costs a fetch and no clone, and is made anew", async () => {
    await (await threadOf()).use("open_repository", open);
    const state = stateOf(setting);
    const pack = readdirSync(join(state, "pack")).find((name) => name.endsWith(".pack")) ?? "";
    const bytes = readFileSync(join(state, "pack", pack));
    bytes.fill(0, 200, bytes.length - 200);
    rmSync(join(state, "pack", pack));
    writeFileSync(join(state, "pack", pack), bytes);
    const unlucky = await threadOf();
    expect((await unlucky.use("open_repository", open)).status).toBe("ok");
    expect(await unlucky.sh("git -C shop fsck; wc -c < shop/data")).toMatch(new RegExp(`${large.length}$`));
    expect(wholeAnswers(setting)).toBe(2);
    await (await threadOf()).use("open_repository", open);
    expect(setting.log.join("\n")).toContain("was broken and is made anew");
    expect(wholeAnswers(setting)).toBe(3);
    await (await threadOf()).use("open_repository", open);
    expect(wholeAnswers(setting)).toBe(3);
  });

  test("goes on after a kill in the middle of an update", async () => {
    await (await threadOf()).use("open_repository", open);
    const [key = ""] = mirrorsOf(setting);
    const root = join(setting.dataDir, "mirrors");
    execFileSync("sh", [
      "-c",
      'cd "$1"; mkdir -p "$2/new-1/pack" "$2/work/ws/new.git" gone-1; echo half > "$2/new-1/pack/half.pack"; touch -d "10 minutes ago" "$2.lock"',
      ...["sh", root, key],
    ]);
    age(setting);
    setting.github.git("acme/large", "branch", "later", "main");
    const { use, sh } = await threadOf();
    await use("open_repository", open);
    expect(await sh("git -C shop branch -r")).toContain("origin/later");
    expect(readFileSync(join(stateOf(setting), "packed-refs"), "utf8")).toContain("later");
    expect(existsSync(join(root, key, "new-1"))).toBe(false);
    expect(existsSync(join(root, "gone-1"))).toBe(false);
    expect(wholeAnswers(setting)).toBe(1);
  });

  test("holds nobody up whose turn is stopped, and leaves nothing running for it", async () => {
    setting.github.beSilent(true);
    const { sandbox } = await threadOf();
    const stop = new AbortController();
    const address = plainAddress({ url: new URL(`http://git.example:${setting.github.port}/acme/large`) });
    const asked = setting.github.requests.length;
    const command = sandbox.exec({ command: "echo ran", repository: address, signal: stop.signal });
    await expect.poll(() => setting.github.requests.length, { timeout: 20_000 }).toBeGreaterThan(asked);
    stop.abort();
    expect((await command).end).toBe("stopped");
    setting.github.beSilent(false);
    await expect
      .poll(() => execFileSync("sh", ["-c", "ps -eo args | grep '[g]it.*acme/large' || true"]).toString())
      .toBe("");
    expect((await (await threadOf()).use("open_repository", open)).status).toBe("ok");
  });

  test("is not kept beyond the room for all of them: the one used least recently goes", async () => {
    await setting.close();
    setting = await openSetting({ mirrorBytes: 200_000 });
    for (const name of ["one", "two"]) {
      setting.github.addRepository(`acme/${name}`, { data: large.slice(0, 160_000) + name });
    }
    setting.github.addRepository("acme/huge", { data: randomBytes(400_000).toString("hex") });
    setting.github.addToken(token, ["acme/one", "acme/two", "acme/huge"]);
    const clone = async (name: string) => {
      const settings = { url: `http://git.example:${setting.github.port}/acme/${name}` };
      return (await (await setting.thread({ settings })).use("open_repository", open)).status;
    };
    expect(await clone("one")).toBe("ok");
    const [one = ""] = mirrorsOf(setting);
    expect(await clone("two")).toBe("ok");
    expect(mirrorsOf(setting)).toHaveLength(1);
    expect(mirrorsOf(setting)).not.toContain(one);
    expect(await clone("huge")).toBe("ok");
    expect(mirrorsOf(setting)).toEqual([]);
    expect(setting.log.join("\n")).toContain("larger than sandbox.mirrorMb");
  });
});
