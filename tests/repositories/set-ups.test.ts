import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { reachRegistries } from "../../src/app/repositories/registries.ts";
import { settingsSchema } from "../../src/config/schema.ts";
import { plainAddress } from "../../src/sandbox/egress/repository.ts";
import { countAttacks } from "../attacks.ts";
import { openSetting, type Setting, token } from "./setting.ts";

const missing = ["socat", "nsenter", "git", "curl"].filter((program) => !existsSync(`/usr/bin/${program}`));
const open = { repository: "shop" };
const ownSandbox = "made in a sandbox of its own";

describe.skipIf(missing.length > 0)("the set-up of a repository", () => {
  let setting: Setting;
  beforeEach(async () => {
    setting = await openSetting({ mirrorBytes: 1e9 });
  });
  afterEach(() => setting.close());

  /** A commit on a branch, with a file. */
  function commit(file: string, text: string, branch = "main"): string {
    const folder = setting.github.git("acme/shop", "rev-parse", "--absolute-git-dir");
    const from = setting.github.git("acme/shop", "rev-parse", "main");
    const parent = branch === "main" ? "refs/heads/main^0" : from;
    execFileSync("git", ["--git-dir", folder, "fast-import", "--quiet", "--force"], {
      input: `commit refs/heads/${branch}\ncommitter A <a@example.com> 1700000001 +0000\ndata 4\nmore\nfrom ${parent}\nM 644 inline ${file}\ndata ${text.length}\n${text}\n`,
    });
    return setting.github.git("acme/shop", "rev-parse", branch);
  }

  const setup =
    "mkdir -p node_modules/a; echo $RANDOM$RANDOM$RANDOM > node_modules/a/index.js; ln -s a/index.js node_modules/link; echo kept > ~/.tool; mkdir ~/.npm; echo changed >> README.md; mkdir ~/.cache; chmod 0 ~/.cache";

  test("is run once for threads that open it at the same time, and later; none can write another's", async () => {
    const threads = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        setting.thread({ settings: { setup }, ...(index % 2 === 1 && { worker: setting.addWorker() }) }),
      ),
    );
    const texts = await Promise.all(threads.map(({ use }) => use("open_repository", open)));
    for (const { text } of texts) expect(text).toContain(ownSandbox);
    const look = "cat shop/node_modules/link .tool; ls -A; git -C shop status --porcelain";
    const [first, ...others] = await Promise.all(threads.map(({ sh }) => sh(look)));
    expect(first).toMatch(/^\d+\nkept\n\.tool\nshop\n\?\? node_modules\/$/);
    expect(new Set(others)).toEqual(new Set([first]));
    await threads[0]?.sh("echo mine > shop/node_modules/a/index.js; chmod -R a+w /set-up; ls /set-up");
    // Also of folders that it has locked nothing is left but what is kept.
    expect(execFileSync("find", [`${setting.dataDir}/mirrors`, "-name", "ws"]).toString()).toBe("");
    const later = await setting.thread({ settings: { setup } });
    await later.use("open_repository", open);
    expect(await later.sh(look)).toBe(first);
  });

  test("is run again for another commit, and with setupFiles for other ones of these files alone", async () => {
    const made = async (settings: object) => {
      const { use, sh } = await setting.thread({ settings: { setup, ...settings } });
      expect((await use("open_repository", open)).text).toContain(ownSandbox);
      return await sh("cat shop/node_modules/a/index.js");
    };
    const byLock = { branch: "main", setupFiles: ["package-lock.json"] };
    commit("package-lock.json", "1");
    const [one, oneByLock] = [await made({}), await made(byLock)];
    commit("README.md", "another");
    expect(await made({})).not.toBe(one);
    expect(await made(byLock)).toBe(oneByLock);
    commit("package-lock.json", "2");
    expect(await made(byLock)).not.toBe(oneByLock);
    expect(
      settingsSchema.safeParse({
        repositories: { shop: { url: "https://github.com/acme/shop", setupFiles: ["a"] } },
      }).success,
    ).toBe(false);
  });

  test("reaches the registries of its presets and nothing else, and has no credential", async (context) => {
    countAttacks(context, 4);
    const { port } = setting.github;
    const probe = (url: string) => `curl -s -o /dev/null -w '%{http_code} ' --max-time 5 ${url}`;
    const { use, sh } = await setting.thread({
      settings: {
        setup: `{ ${probe("$npm_config_registry/x")}; ${probe(`http://git.example:${port}/acme/shop.git/info/refs?service=git-upload-pack`)}; ${probe("http://other.example/")}; git fetch -q 2>&1 || echo no; env; cat /.cargo/config.toml; cat /proc/*/environ; true; } > said 2>&1`,
      },
      reach: reachRegistries(["npm", "crates"], {
        npm: `http://npm.example:${port}`,
        crates: `http://npm.example:${port}/crates/`,
      }),
    });
    expect((await use("open_repository", open)).text).toContain(ownSandbox);
    const said = await sh("cat shop/said");
    expect(said).toMatch(/^404 403 403 /);
    expect(said).toContain(`npm_config_registry=http://npm.example:${port}`);
    expect(said).toContain(`registry = "sparse+http://npm.example:${port}/crates/"`);
    expect(said).toMatch(/error: 403|no\n/);
    expect(said).not.toContain(token);
    expect(setting.log.join("\n")).not.toContain(token);
  });

  test("is nothing that another branch, or what a thread says of a commit, can put into others' threads", async (context) => {
    countAttacks(context, 4);
    const settings = { branch: "main", setup: "sh build.sh", setupFiles: ["lock"] };
    commit("lock", "1");
    commit("build.sh", "echo good > built\n");
    const evil = commit("build.sh", "echo evil > built\n", "evil");
    const address = plainAddress({ url: new URL(`http://git.example:${setting.github.port}/acme/shop`) });
    const content = execFileSync("git", ["hash-object", "--stdin"], {
      input: `${setting.github.git("acme/shop", "ls-tree", "main", "--", "lock")}\n`,
    })
      .toString()
      .trim();
    const thread = await setting.thread({ settings });
    const shown = async (setUpOf: { commit: string; content: string }, each = thread) =>
      (
        await each.sandbox.exec({
          command: "echo [$HEDDLE_SET_UP]; cat $HEDDLE_SET_UP/part-* | tar xO ./shop/built",
          repository: address,
          setUpOf,
        })
      ).stdout.toString();
    expect(await shown({ commit: evil, content })).toBe("[]\n");
    const good = await setting.thread({ settings });
    expect((await good.use("open_repository", open)).text).not.toContain("⚠️");
    expect(await good.sh("cat shop/built")).toBe("good");
    // Without such files only the commit counts, whatever is said of its content.
    const byCommit = await setting.thread({ settings: { setup: "sh build.sh" } });
    const main = setting.github.git("acme/shop", "rev-parse", "main");
    expect(await shown({ commit: evil, content: main }, byCommit)).toBe("[/set-up]\nevil\n");
    expect(await shown({ commit: main, content: main }, byCommit)).toBe("[/set-up]\ngood\n");
    expect(await shown({ commit: "0".repeat(40), content: main }, byCommit)).toBe("[]\n");
    expect(await shown({ commit: "$(touch /workspace/x)", content: main }, byCommit)).toBe("[]\n");
  });

  test("that fails is told in each thread with what it said, which is kept, and holds nothing up", async () => {
    const settings = { setup: "seq 1 5000; echo no such package >&2; exit 7" };
    for (let round = 0; round < 2; round += 1) {
      const { use, sh } = await setting.thread({ settings });
      const { status, text } = await use("open_repository", open);
      expect(status).toBe("ok");
      expect(text).toMatch(
        /set-up did not work \(exit code 7\)[^]*is in \/workspace\/shop-setup\.log[^]*no such package/,
      );
      expect(await sh("head -1 shop-setup.log; tail -1 shop-setup.log")).toBe("1\nno such package");
    }
    const left = setting.log.filter((line) => line.includes("left to its threads"));
    expect(left).toHaveLength(1);
  });
});
