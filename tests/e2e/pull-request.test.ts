import { createHmac } from "node:crypto";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { countAttacks } from "../attacks.ts";
import { type FakeGithub, startGithub } from "../fakes/github.ts";
import { openSearchServices, searchKey, type SearchServices } from "../fakes/search-services.ts";
import { expectNowhere, inspectSandbox } from "./credentials.ts";
import { modelEnvironment } from "./environment.ts";
import { useSetting } from "./hooks.ts";
import { processesWith, running, uniqueSleep } from "./processes.ts";
import { patienceMs } from "./program.ts";
import { discordKind } from "./scenario/discord.ts";
import { agentIn, personIn, startVoices, type Voices } from "./scenario/play.ts";
import { slackKind } from "./scenario/slack.ts";

/** A fix from the question to the pull request, through review and stop, with the real program on each platform. */

const missing = ["socat", "nsenter", "git"].filter((program) => !existsSync(`/usr/bin/${program}`));
const token = "ghp_canaryCanaryCanaryCanaryCanaryCanary48";
const secret = "canary-secret-of-the-webhook";
const here = useSetting();

describe.skipIf(missing.length > 0).each([slackKind, discordKind])("On $name", ({ open }) => {
  let [github, model, search]: [FakeGithub?, Voices?, SearchServices?] = [];
  beforeAll(async () => {
    // Another loopback address than those that programs never ask a proxy for.
    [github, model, search] = await Promise.all([
      startGithub({ host: "127.0.0.2" }),
      startVoices(),
      openSearchServices(),
    ]);
    github.addRepository("acme/shop", { "greeting.txt": "hi\n" });
    github.addToken(token, ["acme/shop"]);
  });
  afterAll(() => Promise.all([github?.close(), model?.close(), search?.close()]));

  test("a fix is asked for, its difference read and approved; a failed check comes back and is answered; 🛑 stops the next attempt", {
    timeout: 3 * patienceMs,
  }, async (context) => {
    countAttacks(context, 12);
    if (!github || !model || !search) throw new Error("Nothing was started.");
    const platform = await open();
    const asked: string[] = [];
    try {
      const repository = {
        ...{ url: `${github.origin}/acme/shop`, kind: "github", apiUrl: github.origin },
        ...{ tokenVariable: "SHOP_TOKEN", setup: "env > /workspace/env-of-setup; echo ready > ../made" },
        feedback: { secretVariable: "SHOP_HOOK_SECRET" },
      };
      const settings = {
        ...platform.rules,
        repositories: { shop: repository },
        channels: { [platform.channel("shop")]: { repositories: ["shop"] } },
        web: { search: "brave", searchUrl: search.brave },
        hooks: { port: 0 },
      };
      await writeFile(join(here.place.folder, "heddle.yaml"), JSON.stringify(settings));
      const credentials = {
        ...{ SHOP_TOKEN: token, SHOP_HOOK_SECRET: secret, BRAVE_API_KEY: searchKey },
        ...Object.fromEntries(Object.entries(platform.environment).filter(([name]) => /TOKEN/.test(name))),
        ANTHROPIC_API_KEY: model.apiKey,
      };
      const program = here.place.start(["start"], {
        ...platform.environment,
        ...modelEnvironment(model),
        ...credentials,
        REDIS_URL: here.redis.path,
      });
      await program.line(/Heddle is ready/);
      const [, hooks] = /port\W*(\d+)/.exec(await program.line(/webhooks are received/)) ?? [];
      const room = await platform.room("shop", "");
      const voice = model.voice();
      const [ada, heddle] = [personIn(room, voice, "ada"), agentIn(room, voice)];
      const proposal = { repository: "shop", title: "Greet properly", body: "It was too short." };
      const checkFails = async (delivery: string, head: string) => {
        const body = JSON.stringify({
          ...{ action: "completed", repository: { full_name: "acme/shop" } },
          check_suite: {
            ...{ conclusion: "failure", head_branch: head, head_sha: delivery.repeat(40).slice(0, 40) },
            app: { name: "GitHub Actions" },
          },
        });
        const signature = createHmac("sha256", secret).update(body).digest("hex");
        const headers = {
          "x-hub-signature-256": `sha256=${signature}`,
          ...{ "x-github-delivery": delivery, "x-github-event": "check_suite" },
        };
        const to = `http://127.0.0.1:${hooks}/hooks/repository/shop`;
        const { status } = await fetch(to, { method: "POST", headers, body });
        expect(status).toBeLessThan(300);
      };

      await ada.mentions("The greeting of the shop is too short, please fix it");
      heddle.calls(["web_search", { query: "how to greet" }]);
      heddle.calls(["open_repository", { repository: "shop" }]);
      heddle.calls([
        "bash",
        { command: "cd shop && cat ../made && env && echo 'hello there' > greeting.txt" },
      ]);
      heddle.calls(["open_pull_request", proposal]);
      const question = await heddle.shows("It pushes to acme/shop, as a new pull request for");
      expect(question).toMatch(/1 file changed, \+1 −1[^]*-hi\s+\+hello there/);
      expect(github.pulls).toEqual([]);
      await ada.presses("Approve", "It pushes to acme/shop");
      await heddle.answers("The pull request is open.");
      const [pull] = github.pulls;
      const head = pull?.head ?? "";
      expect(pull).toMatchObject({ title: "Greet properly", base: "main" });
      expect(pull?.body).toMatch(/asked for by ada/i);
      const message = github.git("acme/shop", "log", "-1", "--format=%B", head);
      expect(message).toMatch(/Requested-by: ada/i);
      expect(github.git("acme/shop", "show", `${head}:greeting.txt`)).toBe("hello there");

      await checkFails("a", head);
      const many = "cd shop && echo 'hello there!' > greeting.txt && seq 4000 > numbers.txt";
      heddle.calls(["bash", { command: many }]);
      heddle.calls(["open_pull_request", { ...proposal, title: "Greet with a mark" }]);
      const large = await heddle.shows("as one more commit on");
      expect(large).toMatch(/2 files changed, \+4001 −1[^]*All of it is in shop\.diff/);
      expect(large).not.toContain("+4000");
      expect(await heddle.gives("shop.diff")).toMatch(/\+hello there!\n[^]*\n\+4000$/m);
      await ada.presses("Approve", "as one more commit on");
      await heddle.answers("The check has what it wanted.");
      const subjects = github.git("acme/shop", "log", "--format=%s", head, "^main").split("\n");
      expect(subjects).toEqual(["Greet with a mark", "Greet properly"]);
      expect(github.pulls).toHaveLength(1);

      await checkFails("b", head);
      const { command: sleep } = uniqueSleep();
      heddle.calls(["bash", { command: `cd shop && echo worse > greeting.txt; ${sleep}` }]);
      await heddle.shows(sleep);
      await running(sleep);
      const sandbox = inspectSandbox(sleep);
      expect(search.asked).not.toEqual([]);
      await ada.stops(sleep);
      await heddle.shows("Stopped");
      expect(processesWith(sleep)).toEqual([]);
      expect(github.git("acme/shop", "log", "--format=%s", head, "^main").split("\n")).toEqual(subjects);

      asked.push(...(await Promise.all([1, 2, 3, 4, 5, 6, 7, 8, 9].map((time) => voice.asked(time)))));
      const drawn = room.messages().map((raw) => room.drawn(raw));
      const places = { log: here.place.outputs(), messages: drawn.join("\n"), model: asked.join("\n") };
      const { redis, place } = here;
      await expectNowhere(Object.values(credentials), places, { redis, folder: place.folder, sandbox });
    } finally {
      await platform.close();
    }
  });
});
