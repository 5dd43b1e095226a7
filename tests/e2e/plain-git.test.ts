import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { countAttacks } from "../attacks.ts";
import { type PlainGit, startPlainGit } from "../fakes/plain-git.ts";
import { expectNowhere, inspectSandbox } from "./credentials.ts";
import { modelEnvironment } from "./environment.ts";
import { useSetting } from "./hooks.ts";
import { running, uniqueSleep } from "./processes.ts";
import { patienceMs } from "./program.ts";
import type { Platform } from "./scenario/chat.ts";
import { agentIn, personIn, startVoices, type Voices } from "./scenario/play.ts";
import { slackKind } from "./scenario/slack.ts";

/** Repositories at a server of git's own, which knows a name and a token and no pull requests, with the program itself. */

const missing = ["socat", "nsenter", "git"].filter((program) => !existsSync(`/usr/bin/${program}`));
const token = "canary-of-the-git-server-Canary50";
const user = "builder";
/** Also as git signs in with it. */
const credentials = [token, Buffer.from(`${user}:${token}`).toString("base64")];
/** Another loopback address than those that programs never ask a proxy for. */
const host = "127.0.0.2";
const here = useSetting();
const proposal = { repository: "shop", title: "Greet properly", body: "It was too short." };

describe.skipIf(missing.length > 0)("A repository at a plain git server", () => {
  let [model, git, elsewhere]: [Voices?, PlainGit?, PlainGit?] = [];
  beforeAll(async () => {
    [model, git, elsewhere] = await Promise.all([
      startVoices(),
      startPlainGit({ user, token, host }),
      startPlainGit({ user, token, host: "127.0.0.3" }),
    ]);
    for (const title of ["srv/shop", "srv/silent", "srv/moved", "srv/endless"])
      git.server.addRepository(title, { "greeting.txt": "hi\n" });
    elsewhere.server.addRepository("srv/moved");
    git.troubles.set("srv/silent", { kind: "silent" });
    git.troubles.set("srv/moved", { kind: "moved", to: elsewhere.origin });
    git.troubles.set("srv/endless", { kind: "endless" });
  });
  afterAll(() => Promise.all([model?.close(), git?.close(), elsewhere?.close()]));

  /** The program, with these repositories of the server in its channel. */
  async function start(names: readonly string[], settings: object = {}) {
    if (!model || !git || !elsewhere) throw new Error("Nothing was started.");
    const { origin } = git;
    const platform: Platform = await slackKind.open();
    onTestFinished(() => platform.close());
    const repositories = Object.fromEntries(
      names.map((name) => [name, { url: `${origin}/srv/${name}`, user, tokenVariable: "GIT_TOKEN" }]),
    );
    const all = {
      ...{ ...platform.rules, repositories, ...settings },
      channels: { [platform.channel("shop")]: { repositories: names } },
    };
    await writeFile(join(here.place.folder, "heddle.yaml"), JSON.stringify(all));
    const program = here.place.start(["start"], {
      ...{ ...platform.environment, ...modelEnvironment(model), REDIS_URL: here.redis.path },
      GIT_TOKEN: token,
    });
    await program.line(/Heddle is ready/);
    const room = await platform.room("shop", "");
    const voice = model.voice();
    return { git, elsewhere, room, voice, ada: personIn(room, voice, "ada"), heddle: agentIn(room, voice) };
  }

  test("is cloned and pushed to after an approval, and what its server refuses is told in its words", {
    // Seven turns with five pushes, each of which starts a dozen processes.
    timeout: 4 * patienceMs,
  }, async () => {
    const { git: server, room, voice, ada, heddle } = await start(["shop"]);
    const { git: run } = server.server;
    const shown = (branch: string) => run("srv/shop", "show", `${branch}:greeting.txt`);
    const { command: sleep } = uniqueSleep();
    const write = (words: string, more = "") =>
      heddle.calls(["bash", { command: `cd shop && echo '${words}' > greeting.txt${more}` }]);
    const propose = () => heddle.calls(["open_pull_request", proposal]);

    await ada.mentions("The greeting of the shop is too short, please fix it");
    heddle.calls(["open_repository", { repository: "shop" }]);
    write("hello there");
    propose();
    const question = await heddle.shows("It pushes to srv/shop, as a new branch for `main`");
    expect(question).toMatch(/-hi\s+\+hello there/);
    expect(run("srv/shop", "branch", "--list", "heddle/*")).toBe("");
    await ada.presses("Approve", "It pushes to srv/shop");
    expect(await heddle.reads(4, "Heddle opens no pull requests there")).toContain("is pushed as heddle/");
    await heddle.answers("It is on a branch.");
    const branch = run("srv/shop", "branch", "--list", "heddle/*", "--format=%(refname:short)");
    expect(shown(branch)).toBe("hello there");

    // A hook of the server's own.
    const hook = join(run("srv/shop", "rev-parse", "--absolute-git-dir"), "hooks/pre-receive");
    await writeFile(hook, "#!/bin/sh\necho 'The shop is closed for the inventory.' >&2\nexit 1\n", {
      mode: 0o755,
    });
    await ada.says("shorter still");
    write("hello");
    propose();
    await ada.presses("Approve", "as one more commit on");
    await heddle.reads(7, "The push did not work: ");
    expect(await voice.asked(7)).toContain("remote: The shop is closed for the inventory.");
    expect(shown(branch)).toBe("hello there");
    execFileSync("rm", [hook]);

    // Somebody else pushes to the branch while it is pushed: theirs stays, also the next time.
    server.onPush = () => {
      server.server.commit("srv/shop", branch, { subject: "Ben's", files: { "ben.txt": "by ben\n" } });
      server.onPush = undefined;
    };
    propose();
    await ada.presses("Approve", "as one more commit on");
    expect(await heddle.reads(8, "The push did not work: ")).toMatch(
      /\[rejected\].*Somebody has pushed there meanwhile/,
    );
    expect(run("srv/shop", "log", "-1", "--format=%s", branch)).toBe("Ben's");
    propose();
    expect(await heddle.reads(9, "Nothing was pushed: ")).toContain(`commits of others on ${branch}`);
    const merge = `git commit -qam mine && git fetch -q origin ${branch} && git merge -q -X ours FETCH_HEAD`;
    write("hello", ` && ${merge}; env; cat /proc/*/environ .git/config`);
    propose();
    await ada.presses("Approve", "as one more commit on");
    await heddle.reads(11, "is pushed as heddle/");
    const subjects = run("srv/shop", "log", "--format=%s", branch, "^main").split("\n");
    expect(subjects).toEqual(["Greet properly", "Ben's", "Greet properly"]);
    expect(shown(branch)).toBe("hello");
    expect(run("srv/shop", "show", `${branch}:ben.txt`)).toBe("by ben");

    // The token ends.
    server.token = "another-one-of-the-git-server";
    onTestFinished(() => {
      server.token = token;
    });
    heddle.calls(["open_repository", { repository: "shop" }]);
    await heddle.reads(12, "does not accept Heddle's credential");
    expect(await voice.asked(12)).toContain("ask the operator");
    write("no more", `; ${sleep}`);
    await running(sleep);
    const sandbox = inspectSandbox(sleep);
    await ada.stops(sleep);
    await heddle.shows("Stopped");

    const asked = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12].map((time) => voice.asked(time)));
    expect(asked[9]).toContain("SHLVL");
    const drawn = room.messages().map((raw) => room.drawn(raw));
    const places = { log: here.place.outputs(), messages: drawn.join("\n"), model: asked.join("\n") };
    const { redis, place } = here;
    await expectNowhere(credentials, places, { redis, folder: place.folder, sandbox });
  });

  test("that leads elsewhere, says nothing or never ends gets no sign-in for others, and holds nobody up", {
    timeout: 2 * patienceMs,
  }, async (context) => {
    countAttacks(context, 3);
    const {
      git: server,
      elsewhere: other,
      ada,
      heddle,
    } = await start(["moved", "endless", "silent"], { egress: { mbPerDay: 8 } });
    await ada.mentions("Look what is in our three repositories");
    heddle.calls(["open_repository", { repository: "moved" }]);
    const moved = await heddle.reads(2, "srv/moved was not opened: ");
    expect(moved).toContain(
      `says that the repository has moved to ${other.origin}/srv/moved; ask the operator`,
    );
    expect(other.requests).toEqual([]);

    heddle.calls(["open_repository", { repository: "silent" }]);
    await heddle.shows("silent");
    const isAsked = () => server.requests.some(({ url }) => url.startsWith("/srv/silent"));
    await expect.poll(isAsked, { timeout: patienceMs }).toBe(true);
    await ada.stops("silent");
    await heddle.shows("Stopped");

    await ada.says("and the last of them?");
    heddle.calls(["open_repository", { repository: "endless" }]);
    await heddle.reads(4, "srv/endless was not opened: ");
    heddle.calls(["bash", { command: "ls -A; du -sm ." }]);
    await heddle.reads(5, String.raw`exit code 0\n1\t.`);
    heddle.calls(["open_repository", { repository: "endless" }]);
    await heddle.reads(6, "this thread has used up its bytes of today");
    await heddle.answers("Two of them are not there.");
  });
});
