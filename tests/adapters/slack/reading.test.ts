import { createServer } from "node:http";
import { describe, expect, test } from "vitest";
import type { AttachmentHandle } from "../../../src/agent/messages.ts";
import { SurfaceError } from "../../../src/chat/surface.ts";
import type { FakeSlack, FakeSlackOptions } from "../../fakes/slack/fake-slack.ts";
import { scene as slackScene } from "./slack-scene.ts";
import { listenForTest } from "../../fakes/listen-for-test.ts";

const scene = (options?: FakeSlackOptions) => slackScene(options, "the build is red");

const calls = (slack: FakeSlack) =>
  slack.calls.filter(({ method }) => method === "conversations.replies").length;
const signal = () => AbortSignal.timeout(5_000);

describe("Files of messages", () => {
  const shared = async (options: FakeSlackOptions = {}, mediaType = "text/csv") => {
    const { slack, surface, ada, general } = await scene(options);
    const { files } = await ada.says(general, "read", {
      files: [{ name: "a.csv", content: "1,2", mediaType }],
    });
    const id = files[0]?.id ?? "";
    const url = `${new URL("/", slack.url).origin}/files-pri/${id}/download/a.csv`;
    const file: AttachmentHandle = { name: id, mediaType, bytes: 0, handle: `${slack.teamId} ${id} ${url}` };
    const fetched = async (handle = file) => {
      const { download } = surface;
      if (!download) throw new Error("There is no download.");
      return Buffer.concat(await Array.fromAsync(download(handle, signal()))).toString();
    };
    return { slack, surface, id, file, fetched };
  };

  test("are fetched with the token", async () => {
    const { fetched } = await shared();
    expect(await fetched()).toBe("1,2");
  });

  test("are fetched when they are pages themselves", async () => {
    const { fetched } = await shared({}, "text/html");
    expect(await fetched()).toBe("1,2");
  });

  test("are refused by name of the scope where Slack shows its login page instead", async () => {
    const { fetched } = await shared({ withoutScopes: ["files:read"] });
    await expect(fetched()).rejects.toThrow(/files:read/);
  });

  test("of another organisation are looked up first", async () => {
    const { slack, surface, id, fetched } = await shared();
    const unknown = {
      name: id,
      mediaType: "application/octet-stream",
      bytes: 0,
      handle: `${slack.teamId} ${id}`,
    };
    await expect(fetched(unknown)).rejects.toBeInstanceOf(SurfaceError);
    const known = await surface.details?.(unknown, signal());
    expect(known).toMatchObject({ name: "a.csv", mediaType: "text/csv", bytes: 3 });
    expect(await fetched(known)).toBe("1,2");
  });

  test("are not looked for anywhere else, by their address or by a redirect, so the token stays here", async () => {
    const { file, fetched, slack, id } = await shared();
    const asked: string[] = [];
    const elsewhere = createServer((request, response) => {
      asked.push(request.url ?? "");
      response.end("secret");
    });
    const url = `${await listenForTest(elsewhere)}/x`;
    await expect(fetched({ ...file, handle: `${slack.teamId} ${id} ${url}` })).rejects.toThrow(
      /not one of Slack/,
    );
    slack.redirectFiles(url);
    await expect(fetched()).rejects.toThrow(/not one of Slack/);
    expect(asked).toEqual([]);
  });
});

describe("What was said in a thread before a message", () => {
  test("comes with who said it, in order, without the message and what came later", async () => {
    const { slack, surface, ada, general, root, place, thread } = await scene();
    const gus = slack.user("gus", { guest: true });
    const robot = slack.user("ci", { bot: true });
    await gus.says(general, "since <@BOT> was here &lt;!&gt;", { thread: root.ts });
    await robot.says(general, "build 7 failed", { thread: root.ts });
    await gus.says(general, "", { thread: root.ts, files: [{ name: "log.txt", content: "x" }] });
    const mention = await ada.says(general, "<@BOT> look", { thread: root.ts });
    await gus.says(general, "later", { thread: root.ts });

    const before = { ...place, message: mention.ts };
    const said = await surface.earlier?.(thread, before, 50);
    expect(said?.map(({ author, text }) => [author.name, author.standing, text])).toEqual([
      ["ada", "member", "the build is red"],
      ["gus", "guest", expect.stringMatching(/^since @.+ was here/)],
      ["ci", "bot", "build 7 failed"],
      ["gus", "guest", "(file: log.txt)"],
    ]);
    expect(said?.at(-1)?.attachments).toMatchObject([{ name: "log.txt", mediaType: "text/plain", bytes: 1 }]);
  });

  test("has what programs say in cards and blocks alone", async () => {
    const { slack, surface, ada, general, place } = await scene();
    const robot = slack.user("alerts", { bot: true });
    const fields = [{ title: "Severity", value: "page", short: true }, { value: null }];
    const root = await robot.says(general, "", {
      attachments: [
        {
          pretext: "Firing",
          title: "DiskFull",
          text: "on <http://db/1|db-1> &amp; db-2",
          fields,
          fallback: "x",
        },
        { fallback: "[no preview available]", blocks: [{ type: "header", text: { text: "Runbook" } }] },
        { fallback: "a picture" },
      ],
    });
    const line = [
      { type: "text", text: "see " },
      { type: "link", url: "https://ci/7" },
    ];
    const blocks = [
      { type: "section", text: { type: "mrkdwn", text: "*Build 7*" }, fields: [{ text: "failed" }] },
      { type: "rich_text", elements: [{ type: "rich_text_section", elements: line }] },
      { type: "actions", elements: [{ type: "button", text: { type: "plain_text", text: "Retry" } }] },
    ];
    await robot.says(general, "", { thread: root.ts, blocks });
    const mention = await ada.says(general, "<@BOT> look", { thread: root.ts });
    const before = { ...place, message: mention.ts };
    const said = await surface.earlier?.({ ...place, thread: root.ts }, before, 50);
    expect(said?.map(({ text }) => text)).toEqual([
      "Firing\nDiskFull\non db-1 (http://db/1) & db-2\nSeverity: page\nRunbook\na picture",
      "*Build 7*\nfailed\nsee https://ci/7",
    ]);
  });

  test("is the first message and the newest, however long the thread is, in at most ten calls", async () => {
    const { slack, surface, ada, general, root, place } = await scene();
    // Fifty days, with a hundred messages in the eight hours of work of each.
    const began = Number(root.ts) - 51 * 86_400;
    root.ts = began.toFixed(6);
    const thread = { ...place, thread: root.ts };
    for (let number = 1; number <= 5_000; number += 1) {
      const reply = await ada.says(general, `reply ${number}`, { thread: root.ts });
      reply.ts = (began + Math.floor(number / 100) * 86_400 + (number % 100) * 288).toFixed(6);
    }
    const mention = await ada.says(general, "<@BOT> look", { thread: root.ts });
    await ada.says(general, "later", { thread: root.ts });
    const read = async (limit: number) =>
      (await surface.earlier?.(thread, { ...place, message: mention.ts }, limit))?.map(({ text }) => text);
    expect(await read(3)).toEqual(["the build is red", "reply 4999", "reply 5000"]);
    expect(calls(slack)).toBeLessThanOrEqual(10);
    const newest = Array.from({ length: 499 }, (_, n) => `reply ${4_502 + n}`);
    expect(await read(500)).toEqual(["the build is red", ...newest]);
    expect(calls(slack)).toBeLessThanOrEqual(20);
  });

  test("has the newest also where they came long after all others", async () => {
    const { slack, surface, ada, general, root, place } = await scene();
    const began = Number(root.ts) - 365 * 86_400;
    root.ts = began.toFixed(6);
    for (let number = 1; number <= 2_500; number += 1) {
      const reply = await ada.says(general, `reply ${number}`, { thread: root.ts });
      if (number <= 2_490) reply.ts = (began + number).toFixed(6);
    }
    const mention = await ada.says(general, "<@BOT> look", { thread: root.ts });
    const thread = { ...place, thread: root.ts };
    const said = await surface.earlier?.(thread, { ...place, message: mention.ts }, 50);
    const texts = said?.map(({ text }) => text);
    expect(texts).toHaveLength(50);
    expect(texts?.slice(-10)).toEqual(Array.from({ length: 10 }, (_, n) => `reply ${2_491 + n}`));
    expect(calls(slack)).toBeLessThanOrEqual(10);
  });

  test("is a clear error where it may not be read", async () => {
    const { surface, place, thread } = await scene({ withoutScopes: ["channels:history"] });
    const earlier = surface.earlier?.(thread, { ...place, message: "9999999999.000000" }, 3);
    await expect(earlier).rejects.toThrow(/channels:history/);
  });
});
