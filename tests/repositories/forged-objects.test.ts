import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { deflateSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { defaultLimits } from "../../src/sandbox/limits.ts";
import { openSetting, type Setting, type ThreadOfSetting } from "./setting.ts";

const missing = ["socat", "nsenter", "git"].filter((program) => !existsSync(`/usr/bin/${program}`));
const proposal = { repository: "shop", title: "Say hello", body: "" };
const refusal =
  /^Nothing was pushed: .*what git keeps in \/workspace\/shop as [0-9a-f]{40} is missing or something else, so nobody can be shown what would be pushed: remove the folder and open the repository again\.$/;
const hexOf = async ({ sh }: ThreadOfSetting, command: string) => {
  const said = await sh(`cd shop; ${command}`);
  expect(said).toMatch(/^[0-9a-f]{40}$/);
  return said;
};
const looseOf = (id: string) => `shop/.git/objects/${id.slice(0, 2)}/${id.slice(2)}`;

/** Has git find the content of another object under an id, until that is called which it gives. */
type Forge = (
  thread: ThreadOfSetting,
  forged: { id: string; as: string; type: string },
) => Promise<() => Promise<unknown>>;

const contentOf = async ({ sandbox }: ThreadOfSetting, type: string, id: string) =>
  (await sandbox.exec({ command: `git -C shop cat-file ${type} ${id}` })).stdout;

/** git looks for a file of the object, and does not ask what is in it. */
const forgeFile: Forge = async (thread, { id, as, type }) => {
  const { sandbox, sh } = thread;
  const content = await contentOf(thread, type, as);
  const lie = deflateSync(Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content]));
  await sh(`cp -p ${looseOf(id)} true; chmod u+w ${looseOf(id)}`);
  const written = await sandbox.writeFile(looseOf(id), lie);
  expect(written.ok).toBe(true);
  return () => sh(`cat true > ${looseOf(id)}`);
};

/** A pack comes before files, and what its objects are called only its index says (gitformat-pack(5), version 2). */
const forgePack: Forge = async ({ sandbox, sh }, { id, as }) => {
  const name = await sh(`cd shop; echo ${as} | git pack-objects -q .git/objects/pack/pack`);
  const file = `shop/.git/objects/pack/pack-${name}.idx`;
  const read = await sandbox.readFile(file);
  if (!read.ok) throw new Error(read.message);
  const index = Buffer.from(read.data);
  const first = Number.parseInt(id.slice(0, 2), 16);
  for (let at = 0; at < 256; at += 1) index.writeUInt32BE(at < first ? 0 : 1, 8 + 4 * at);
  Buffer.from(id, "hex").copy(index, 8 + 1024);
  createHash("sha1")
    .update(index.subarray(0, -20))
    .digest()
    .copy(index, index.length - 20);
  await sh(`chmod u+w ${file}`);
  expect((await sandbox.writeFile(file, index)).ok).toBe(true);
  return () => sh(`rm -f shop/.git/objects/pack/pack-${name}.*`);
};

describe.skipIf(missing.length > 0)("what people see of a push is what is pushed, whatever git finds", () => {
  let setting: Setting;
  beforeAll(async () => {
    setting = await openSetting();
    const { git } = setting.github;
    const own = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
    const second = git("acme/shop", ...own, "commit-tree", "-p", "main", "-m", "second", "main^{tree}");
    git("acme/shop", "update-ref", "refs/heads/main", second);
  });
  afterAll(() => setting.close());

  /** With a file for each object, so that one can be put in its place. */
  async function openShop(): Promise<ThreadOfSetting> {
    const thread = await setting.thread();
    expect((await thread.use("open_repository", { repository: "shop" })).status).toBe("ok");
    const packs = "shop/.git/objects/pack";
    await thread.sh(
      `mv ${packs} packs; mkdir ${packs}; for pack in packs/*.pack; do git -C shop unpack-objects -q < "$pack"; done; rm -rf packs`,
    );
    return thread;
  }

  /** While git is deceived nobody is asked and nothing is pushed; and afterwards people see what it is. */
  async function expectRefused(thread: ThreadOfSetting, restore: () => Promise<unknown>, shown: string) {
    const before = setting.github.git("acme/shop", "for-each-ref");
    const asked = await thread.ask("open_pull_request", proposal);
    expect(asked).toBeUndefined();
    expect((await thread.use("open_pull_request", proposal)).text).toMatch(refusal);
    expect(setting.github.git("acme/shop", "for-each-ref")).toBe(before);
    await restore();
    expect((await thread.ask("open_pull_request", proposal))?.file?.text).toContain(shown);
  }

  describe.each([
    ["a file", forgeFile],
    ["a pack", forgePack],
  ])("in %s", (_where, forge) => {
    test("a harmless text cannot stand for what is pushed", async () => {
      const thread = await openShop();
      const as = await hexOf(thread, "echo benign | git hash-object -w --stdin");
      const id = await hexOf(thread, "echo steal > new.js; git hash-object -w new.js");
      const restore = await forge(thread, { id, as, type: "blob" });
      expect(await thread.sh(`git -C shop cat-file blob ${id}`)).toBe("benign");
      await expectRefused(thread, restore, "+steal");
    });

    test("a folder cannot hide what is in it", async () => {
      const thread = await openShop();
      await thread.sh("cd shop; mkdir -p .github/workflows; echo one > .github/one; git add .github/one");
      const as = await hexOf(thread, "git write-tree --prefix=.github");
      await thread.sh("cd shop; echo 'on: push' > .github/workflows/a.yml; git add .");
      const id = await hexOf(thread, "git write-tree --prefix=.github; git write-tree > ../whole");
      const restore = await forge(thread, { id, as, type: "tree" });
      const names = await thread.sh("git -C shop ls-tree -r --name-only $(cat whole)");
      expect(names).toContain(".github/one");
      expect(names).not.toContain("workflows");
      await expectRefused(thread, restore, "+on: push");
    });

    test("what was there before cannot pass for what is new", async () => {
      const thread = await openShop();
      const id = await hexOf(thread, "git rev-parse HEAD:README.md");
      const as = await hexOf(thread, "echo steal > README.md; git hash-object -w README.md");
      const restore = await forge(thread, { id, as, type: "blob" });
      expect(await thread.sh(`git -C shop cat-file blob ${id}`)).toBe("steal");
      await expectRefused(thread, restore, "+steal");
    });

    test("the base cannot be said to have what it has not", async () => {
      const thread = await openShop();
      const id = await hexOf(thread, "git rev-parse HEAD~1");
      const main = await hexOf(thread, "git rev-parse HEAD");
      await thread.sh(
        "cd shop; echo steal > new.js; git add .; git reset -q --soft $(git commit-tree -m unseen $(git write-tree)); echo hi > hi.md",
      );
      const as = await hexOf(thread, `git commit-tree -p HEAD -m forged ${id}^{tree}`);
      const restore = await forge(thread, { id, as, type: "commit" });
      expect(await thread.sh("git -C shop merge-base origin/main HEAD; git -C shop rev-parse HEAD")).toMatch(
        /^(\w+)\n\1$/,
      );
      const mend = async () => {
        await restore();
        await thread.sh(`git -C shop reset -q --soft ${main}`);
      };
      await expectRefused(thread, mend, "+steal");
    });
  });

  test("another host cannot say what is there already", async () => {
    const thread = await openShop();
    const before = setting.github.git("acme/shop", "for-each-ref");
    await thread.sh(
      "cd shop; echo steal > new.js; git add .; git commit -qm unseen; git clone -q --bare . ../hosts/acme/shop.git; " +
        `git config url./workspace/hosts/.insteadOf http://git.example:${setting.github.port}/; echo hi > hi.md`,
    );
    expect(await thread.ask("open_pull_request", proposal)).toBeUndefined();
    expect((await thread.use("open_pull_request", proposal)).text).toMatch(
      /^Nothing was pushed: the work does not follow from main as it is at the host;/,
    );
    expect(setting.github.git("acme/shop", "for-each-ref")).toBe(before);
  });
});

describe.skipIf(missing.length > 0)("honest work", () => {
  let setting: Setting;
  beforeAll(async () => {
    setting = await openSetting();
    setting.github.addToken("other-token", ["acme/other"]);
  });
  afterAll(() => setting.close());

  const commitAtHost = (parents: readonly string[], tree: string): string => {
    const { git } = setting.github;
    const own = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
    const named = parents.flatMap((parent) => ["-p", parent]);
    const made = git("acme/other", ...own, "commit-tree", ...named, "-m", "theirs", tree);
    git("acme/other", "update-ref", "refs/heads/main", made);
    return made;
  };

  test("is shown whatever it changes, also in a clone without its history, and where the base has moved on", async () => {
    const { git, port } = setting.github;
    for (const _ of [1, 2, 3]) commitAtHost(["main"], "main^{tree}");
    commitAtHost(["main", "main~2"], "main^{tree}");
    const { use, ask, sh } = await setting.thread({
      settings: { url: `http://git.example:${port}/acme/other` },
      credential: { token: async () => ({ ok: true, value: "other-token" }) as const },
    });
    await sh(`git clone -q --depth 1 http://git.example:${port}/acme/other.git shop; cd shop; git tag start`);
    expect(await sh("cd shop; git rev-parse --is-shallow-repository; git rev-list --count HEAD")).toBe(
      "true\n1",
    );
    commitAtHost(["main"], git("acme/other", "mktree"));
    commitAtHost(["main", "main~4"], "main^{tree}");
    await sh(
      "cd shop; seq 1 50 > numbers; printf 'a\\0b' > binary; ln -s numbers link; echo true > tool; mkdir -p deep/er; echo x > deep/er/file; " +
        "git init -q sub; git -C sub commit -q --allow-empty -m sub; git add . 2> /dev/null; git commit -qm more; git commit -q --allow-empty -m none",
    );
    expect((await ask("open_pull_request", proposal))?.why).toContain(
      "6 files changed, +54 −0. ⚠️ One file is no",
    );
    const first = await use("open_pull_request", proposal);
    expect(first.text).toContain("is pushed as heddle/");
    const branch = setting.github.pulls.at(-1)?.head ?? "";
    expect(git("acme/other", "ls-tree", "-r", branch)).toMatch(/160000 commit \w+\tsub/);

    await sh(
      "cd shop; git mv numbers numbered; echo 51 >> numbered; chmod +x tool; rm deep/er/file; git commit -qam second",
    );
    const asked = await ask("open_pull_request", proposal);
    expect(asked?.why).toContain("as one more commit on");
    for (const part of ["rename to numbered", "+51", "new mode 100755", "deleted file mode"]) {
      expect(asked?.file?.text).toContain(part);
    }
    expect((await use("open_pull_request", proposal)).text).toContain("was open already and has it");

    await sh("cd shop; git fetch -q origin main; git merge -q -m merged FETCH_HEAD");
    expect((await ask("open_pull_request", proposal))?.why).toContain("5 files changed, +54 −0.");
    expect((await use("open_pull_request", proposal)).text).toContain("was open already and has it");
    expect(git("acme/other", "log", "-1", "--format=%P", branch).split(" ")).toHaveLength(2);
    expect(git("acme/other", "rev-parse", `${branch}^2`)).toBe(git("acme/other", "rev-parse", "main"));
  });

  test("may be more than one file may hold", async () => {
    const small = await openSetting({ limits: { ...defaultLimits, fileBytes: 24 * 1024 * 1024 } });
    onTestFinished(() => small.close());
    const { use, ask, sh } = await small.thread();
    await use("open_repository", { repository: "shop" });
    await sh("cd shop; for n in 1 2; do head -c 20000000 /dev/urandom > $n; done");
    expect((await ask("open_pull_request", proposal))?.why).toContain("2 files are no text");
  });
});
