import { execFileSync } from "node:child_process";
import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createAppCredential } from "../../src/repositories/github-app.ts";
import { countAttacks } from "../attacks.ts";
import { openSetting, type Setting, token } from "./setting.ts";

const missing = ["socat", "nsenter", "git"].filter((program) => !existsSync(`/usr/bin/${program}`));
/** In the form of https://docs.github.com/en/code-security/secret-scanning/working-with-secret-scanning-and-push-protection */
const pushProtection = `error: GH013: Repository rule violations found for refs/heads/heddle/x.

- GITHUB PUSH PROTECTION
  —————————————————————————————————————————
    Resolve the following violations before pushing again

    - Push cannot contain secrets


     (?) Learn how to resolve a blocked push
     https://docs.github.com/code-security

      —— GitHub Personal Access Token ——————————————————————
       locations:
         - commit: 1234567890123456789012345678901234567890
           path: config.js:1

       (?) To push, remove secret from commit(s) or follow this URL to allow the secret.
       https://github.com/acme/guarded/security/secret-scanning/unblock-secret/2abc

`;
const proposal = { repository: "shop", title: "Say hello", body: "It did not." };

describe.skipIf(missing.length > 0)("a channel's repository", () => {
  let setting: Setting;
  beforeAll(async () => {
    setting = await openSetting();
  });
  afterAll(() => setting.close());

  test("is cloned, signed in, and says where it is and what it tells agents", async () => {
    const { use, sh } = await setting.thread();
    const { status, text } = await use("open_repository", { repository: "shop" });
    expect(text).toMatch(
      /^acme\/shop is in \/workspace\/shop, on main at [0-9a-f]{7} first\.\nIts AGENTS\.md/,
    );
    expect(status).toBe("ok");
    expect(await sh("cat shop/README.md; git -C shop remote get-url origin")).toBe(
      `# A shop\nhttp://git.example:${setting.github.port}/acme/shop.git`,
    );
  });

  test("is set up once, and a set-up that fails is told and holds nothing up", async () => {
    const good = await setting.thread({ settings: { setup: "echo one >> ../set-up; cat README.md" } });
    expect((await good.use("open_repository", { repository: "shop" })).text).toContain(
      "Its set-up has run: echo",
    );
    setting.github.git("acme/shop", "branch", "later", "main");
    const again = await good.use("open_repository", { repository: "shop" });
    expect(again.text).toContain("was in /workspace/shop already");
    expect(await good.sh("cat set-up; git -C shop branch -r")).toMatch(/^one\n[^]*origin\/later/);

    const bad = await setting.thread({ settings: { setup: "echo no network; exit 7" } });
    const told = await bad.use("open_repository", { repository: "shop" });
    expect(told).toMatchObject({ status: "ok" });
    expect(told.text).toMatch(/set-up did not work \(exit code 7\)[^]*no network/);
  });

  test("is brought up to date where its host has moved a tag, and put branches in the place of another", async () => {
    const { github } = setting;
    github.addRepository("acme/moving", { "README.md": "# A shop\n" });
    github.addToken(token, ["acme/shop", "acme/other", "acme/moving"]);
    const git = (...args: string[]) => github.git("acme/moving", ...args);
    git("branch", "feature", "main");
    git("tag", "nightly", "main");
    const url = `http://git.example:${github.port}/acme/moving`;
    const { use, sh } = await setting.thread({ settings: { url } });
    await use("open_repository", { repository: "shop" });
    const who = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
    const next = git(...who, "commit-tree", "main^{tree}", "-p", "main", "-m", "next");
    git("tag", "--force", "nightly", next);
    git("branch", "-D", "feature");
    git("branch", "feature/one", next);
    expect(await use("open_repository", { repository: "shop" })).toMatchObject({ status: "ok" });
    expect(await sh("cd shop; git rev-parse nightly origin/feature/one; git branch -r")).toBe(
      `${next}\n${next}\n  origin/HEAD -> origin/main\n  origin/feature/one\n  origin/main`,
    );
  });

  test("gets its work as a pull request: people see the difference, approve, and get the address", async () => {
    const coAuthors = { U1: "Ada Lovelace <1234+ada@users.noreply.github.com>", U2: "Ben <ben@example.com>" };
    const { use, ask, sh, id } = await setting.thread({ settings: { coAuthors } });
    await use("open_repository", { repository: "shop" });
    await sh(
      "cd shop; echo hello >> README.md; echo new > new.txt; git add .; git commit -qm half; echo more >> new.txt",
    );
    const asked = await ask("open_pull_request", proposal);
    expect(asked?.why).toBe(
      "It pushes to acme/shop, as a new pull request for `main`: 2 files changed, +3 −0.",
    );
    expect(asked?.file?.name).toBe("shop.diff");
    expect(asked?.file?.text).toContain("+hello");
    expect(setting.github.pulls).toEqual([]);

    const { text, status } = await use("open_pull_request", proposal);
    expect(status).toBe("ok");
    const [, branch = "", address] =
      /pushed as (\S+)\. The pull request is open: (\S+) \(number 1\)/.exec(text) ?? [];
    expect(branch).toMatch(/^heddle\/[0-9a-f]{8}-say-hello$/);
    expect(address).toBe("https://github.example/acme/shop/pull/1");
    expect(setting.github.pulls).toMatchObject([{ head: branch, base: "main", title: "Say hello" }]);
    expect(setting.github.pulls[0]?.body).toBe(
      "It did not.\n\n---\nMade with Heddle, asked for by Ada here b.",
    );
    expect(setting.github.git("acme/shop", "log", "--format=%s %P", branch, "^main")).toBe(
      `Say hello ${setting.github.git("acme/shop", "rev-parse", "main")}`,
    );
    expect(setting.github.git("acme/shop", "log", "-1", "--format=%an %b", branch)).toBe(
      "Heddle Requested-by: Ada here b\nCo-authored-by: Ada Lovelace <1234+ada@users.noreply.github.com>",
    );
    expect(setting.remembered).toMatchObject([
      { thread: id, branch, repository: "acme/shop", requester: { id: "U1" } },
      { thread: id, branch, pullRequest: { number: 1, url: address } },
    ]);

    // The answer to a review is a further commit of the same pull request.
    await sh("cd shop; git status --porcelain > ../left; echo better >> README.md");
    expect(await sh("cat left")).toBe("");
    expect((await ask("open_pull_request", proposal))?.why).toContain(`as one more commit on \`${branch}\``);
    const more = await use("open_pull_request", { ...proposal, title: "Say it better" });
    expect(more.text).toContain("was open already and has it: https://github.example/acme/shop/pull/1");
    expect(setting.github.git("acme/shop", "log", "--format=%s", branch, "^main").split("\n")).toEqual([
      "Say it better",
      "Say hello",
    ]);
  });

  test("gets nothing that people have not seen", async (context) => {
    countAttacks(context, 3);
    const { use, sh, dispatcher } = await setting.thread();
    await use("open_repository", { repository: "shop" });
    const before = setting.github.git("acme/shop", "for-each-ref");
    expect((await use("open_pull_request", proposal)).text).toContain("has no change");

    await sh("cd shop; echo seen > file");
    const signal = new AbortController().signal;
    const call = { id: "c1", name: "open_pull_request", input: proposal };
    const decision = { kind: "approved", by: { id: "U1", name: "Ada" }, at: 1 } as const;
    await dispatcher.reviewCalls([call], signal);
    const [seen] = await dispatcher.readFiles(call, signal);
    await sh("cd shop; echo unseen > file");
    const late = await dispatcher.dispatch(call, signal, { decision });
    expect(late.message.text).toContain("changed after it was looked at");
    const [now] = await dispatcher.readFiles(call, signal);
    expect(now?.sha256).not.toBe(seen?.sha256);
    // Nobody to ask: a helper's call, or a turn without people.
    expect((await dispatcher.dispatch({ ...call, id: "c2" }, signal)).message.text).toMatch(/^DENIED/);
    expect(setting.github.git("acme/shop", "for-each-ref")).toBe(before);
  });

  test("is not shown in another light by what lies in the workspace", async (context) => {
    countAttacks(context, 3);
    const { use, ask, sh } = await setting.thread();
    await use("open_repository", { repository: "shop" });
    await sh(
      "cd shop; printf '#!/bin/sh\\necho nothing\\n' > /workspace/fake; chmod +x /workspace/fake; " +
        "git config diff.external /workspace/fake; git config diff.x.textconv /workspace/fake; echo '*.md diff=x' > .git/info/attributes; " +
        "printf '#!/bin/sh\\ntouch /workspace/hooked\\n' > .git/hooks/pre-push; chmod +x .git/hooks/pre-push; " +
        "git remote set-url origin http://git.example/acme/other.git; echo bad >> README.md",
    );
    expect((await ask("open_pull_request", proposal))?.file?.text).toContain("+bad");
    expect((await use("open_pull_request", { ...proposal, title: "Hooks" })).status).toBe("ok");
    expect(await sh("ls /workspace")).not.toContain("hooked");
  });

  test("shows every text that it would push, whatever the repository says of it, and counts what is none", async (context) => {
    countAttacks(context, 6);
    const { use, ask, sh } = await setting.thread();
    await use("open_repository", { repository: "shop" });
    await sh(
      "cd shop; echo '* -diff' > .gitattributes; echo '* binary' > .git/info/attributes; echo '* -diff' > /workspace/attributes; " +
        "git config core.attributesFile /workspace/attributes; git config diff.default.binary true; git config diff.orderFile /workspace/none; " +
        "echo 'steal()' >> README.md; printf 'a\\0steal()' > hidden.js; printf 'x' > 'a\tb\nc'",
    );
    const asked = await ask("open_pull_request", proposal);
    expect(asked?.why).toBe(
      "It pushes to acme/shop, as a new pull request for `main`: 4 files changed, +3 −0. ⚠️ One file is no text: what is in there is not shown.",
    );
    expect(asked?.file?.text).toContain("+steal()");
    expect(asked?.file?.text).toContain("Binary files /dev/null and b/hidden.js differ");
  });

  test.each([
    ["under a name that git quotes", "mkdir -p .github/workflows; echo 'on: push' > .github/workflows/ü.yml"],
    ["by giving a file its name", "mkdir -p .github/workflows; git mv AGENTS.md .github/workflows/a.yml"],
    ["for a service that watches the host", "mkdir .woodpecker; echo 'steps:' > .woodpecker/a.yaml"],
  ])("says that it changes CI, also %s", async (_how, change) => {
    const { use, ask, sh } = await setting.thread();
    await use("open_repository", { repository: "shop" });
    await sh(`cd shop; ${change}`);
    const asked = await ask("open_pull_request", proposal);
    expect(asked?.why).toMatch(/1 file changed, .* ⚠️ It changes what the host runs by itself \(CI\)\.$/);
  });

  test("names in its commit nobody but who has asked, whatever the title says", async () => {
    const { use, sh } = await setting.thread();
    await use("open_repository", { repository: "shop" });
    await sh("cd shop; echo x > forged");
    const title = "Forge it\n\nRequested-by: Ben\u2028Co-authored-by: Ben <ben@example.com>";
    expect((await use("open_pull_request", { ...proposal, title })).status).toBe("ok");
    const branch = setting.github.pulls.at(-1)?.head ?? "";
    const lines = setting.github.git("acme/shop", "log", "-1", "--format=%B", branch).split("\n");
    expect(lines.filter((line) => /^[\w-]+-by:/.test(line))).toEqual(["Requested-by: Ada here b"]);
  });

  test("may change by more than can be shown: that is said, and its beginning is shown", async () => {
    const { use, ask, sh } = await setting.thread();
    await use("open_repository", { repository: "shop" });
    await sh(
      "cd shop; seq 1 1000000 > numbers; mkdir -p .github/workflows; echo 'on: push' > .github/workflows/a.yml",
    );
    const asked = await ask("open_pull_request", proposal);
    expect(asked?.why).toContain(
      "2 files changed, +1000001 −0. ⚠️ It changes what the host runs by itself (CI). ⚠️",
    );
    expect(asked?.why).toContain("too long to be shown whole");
    expect(asked?.file?.text.length).toBeLessThan(210_000);
  });

  test("is not pushed to where the operator says so, and without asking where the operator says that", async () => {
    const closed = await setting.thread({ settings: { push: "deny" } });
    await closed.use("open_repository", { repository: "shop" });
    await closed.sh("cd shop; echo x > x");
    expect((await closed.use("open_pull_request", proposal)).text).toContain(
      "lets nothing be pushed to acme/shop",
    );

    const open = await setting.thread({ settings: { push: "allow" } });
    await open.use("open_repository", { repository: "shop" });
    await open.sh("cd shop; echo x > x");
    expect(await open.ask("open_pull_request", proposal)).toBeUndefined();
    expect((await open.use("open_pull_request", { ...proposal, title: "Free" })).status).toBe("ok");
    const own = { ...proposal, branch: "heddle/00000000-other" };
    expect((await open.use("open_pull_request", own)).text).toContain("expected a branch that begins with");
  });

  test("is no other thread's branch, and nobody is asked about one", async () => {
    const { use, ask, sh } = await setting.thread();
    await use("open_repository", { repository: "shop" });
    await sh("cd shop; echo x > x");
    const foreign = { ...proposal, branch: "heddle/00000000-other" };
    expect(await ask("open_pull_request", foreign)).toBeUndefined();
    expect(await use("open_pull_request", foreign)).toMatchObject({
      status: "error",
      text: expect.stringContaining("expected a branch that begins with heddle/"),
    });
  });

  test("says what its host refuses", async () => {
    setting.github.addToken("reader-token", ["acme/shop"], { contents: "read" });
    setting.github.addToken("pusher-token", ["acme/shop"], { contents: "write" });
    const credentialOf = (value: string) => ({ token: async () => ({ ok: true, value }) as const });
    const reader = await setting.thread({ credential: credentialOf("reader-token") });
    await reader.use("open_repository", { repository: "shop" });
    await reader.sh("cd shop; echo x > y");
    expect((await reader.use("open_pull_request", proposal)).text).toMatch(
      /The push did not work: .*Write access/,
    );

    const pusher = await setting.thread({ credential: credentialOf("pusher-token") });
    await pusher.use("open_repository", { repository: "shop" });
    await pusher.sh("cd shop; echo x > y");
    const { text, status } = await pusher.use("open_pull_request", proposal);
    expect(status).toBe("partial");
    expect(text).toMatch(/but the pull request was not opened: .*more rights.*Resource not accessible/);

    // What the operator has put right, or time: the branch is there, and its pull request is opened without a change.
    setting.github.addToken("pusher-token", ["acme/shop"]);
    const asked = await pusher.ask("open_pull_request", proposal);
    expect(asked?.why).toMatch(
      /^It opens a pull request in acme\/shop for `main`, of `heddle\/[0-9a-f]{8}-say-hello` as it is there already\.$/,
    );
    const opened = await pusher.use("open_pull_request", proposal);
    expect(opened).toMatchObject({
      status: "ok",
      text: expect.stringMatching(
        /^Nothing is new since heddle\/\S+ was pushed\. The pull request is open: https:/,
      ),
    });
    expect(setting.github.pulls.at(-1)).toMatchObject({ title: "Say hello", base: "main" });

    const stranger = await setting.thread({ credential: credentialOf("wrong") });
    const refused = await stranger.use("open_repository", { repository: "shop" });
    expect(refused.text).toContain("does not accept Heddle's credential");
  });

  test("says all that its host says against a push, and what is missing where nothing can be pushed", async () => {
    const settings = { url: `http://git.example:${setting.github.port}/acme/guarded` };
    setting.github.addRepository("acme/guarded");
    setting.github.addToken("guarded-token", ["acme/guarded"]);
    const credential = { token: async () => ({ ok: true, value: "guarded-token" }) as const };
    const { use, sh } = await setting.thread({ settings, credential });
    expect((await use("open_pull_request", proposal)).text).toBe(
      "Nothing was pushed: /workspace/shop is not there; call open_repository first.",
    );
    await use("open_repository", { repository: "shop" });
    await sh("cd shop; echo x > config.js");
    const folder = setting.github.git("acme/guarded", "rev-parse", "--absolute-git-dir");
    const hook = join(folder, "hooks/pre-receive");
    writeFileSync(hook, `#!/bin/sh\ncat >&2 <<'END'\n${pushProtection}END\nexit 1\n`, { mode: 0o755 });
    const refused = await use("open_pull_request", proposal);
    expect(refused.text).toMatch(/The push did not work: remote: error: GH013: .*path: config\.js:1/);

    rmSync(hook);
    setting.github.git("acme/guarded", "update-ref", "-d", "refs/heads/main");
    const empty = await setting.thread({ settings, credential });
    await empty.use("open_repository", { repository: "shop" });
    await empty.sh("cd shop; echo x > y");
    expect((await empty.use("open_pull_request", proposal)).text).toContain(
      "Nothing was pushed: the repository has no commit, and so no branch that this could go to",
    );
  });

  test("is pushed to although the App's token has ended since it was cloned, and no token or key of the App is left anywhere", async () => {
    const keys = generateKeyPairSync("rsa", {
      modulusLength: 2048,
      publicKeyEncoding: { type: "spki", format: "pem" },
      privateKeyEncoding: { type: "pkcs8", format: "pem" },
    });
    setting.github.addApp({ clientId: "app", publicKey: keys.publicKey, repositories: ["acme/shop"] });
    const credential = createAppCredential({
      readApp: async () => ({
        ok: true,
        app: { clientId: "app", privateKey: createPrivateKey(keys.privateKey) },
      }),
      place: { api: setting.github.origin, owner: "acme", name: "shop" },
      now: Date.now,
      onToken: () => {},
    });
    const { use, sh, id } = await setting.thread({ credential });
    const opened = await use("open_repository", { repository: "shop" });
    await sh("cd shop; echo app > app");
    const [first = ""] = setting.github.issued;
    setting.github.revoke(first);
    const pushed = await use("open_pull_request", { ...proposal, title: "By the App" });
    expect(pushed.status).toBe("ok");
    expect(setting.github.issued).toHaveLength(2);

    const seen = await sh("env; cat /proc/*/environ /proc/*/cmdline; git -C shop config -l; git config -l");
    const texts = [
      opened.text,
      pushed.text,
      seen,
      JSON.stringify(setting.remembered),
      setting.log.join("\n"),
    ];
    const key = keys.privateKey.split("\n")[1] ?? "";
    for (const canary of [...setting.github.issued, key]) {
      const forms = [canary, Buffer.from(`x-access-token:${canary}`).toString("base64")];
      for (const form of forms) expect(texts.join("\n").includes(form), id).toBe(false);
      const args = ["-rlaF", ...forms.flatMap((form) => ["-e", form]), setting.dataDir];
      expect(execFileSync("sh", ["-c", 'grep "$@" || true', "sh", ...args]).toString()).toBe("");
    }
  });

  test("leaves its token nowhere in the sandbox, in the log or in a result", async () => {
    const { use, sh, sandbox } = await setting.thread();
    const said = [
      (await use("open_repository", { repository: "shop" })).text,
      (await sh("cd shop; echo z > z")) && "",
      (await use("open_pull_request", { ...proposal, title: "Canary" })).text,
      await sh(
        "env; cat /proc/*/environ /proc/*/cmdline; git -C shop config -l --show-origin; git config -l",
      ),
      setting.log.join("\n"),
    ].join("\n");
    const forms = [token, Buffer.from(`x-access-token:${token}`).toString("base64"), token.slice(4)];
    for (const form of forms) {
      expect(said).not.toContain(form);
      const found = await sandbox.exec({
        command: `grep -rlaF -e '${form}' /workspace /tmp /dev/shm /etc 2>/dev/null`,
      });
      expect(found.stdout.toString()).toBe("");
    }
  });
});
