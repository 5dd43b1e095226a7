import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createDiscordSurface } from "../../../src/adapters/discord/surface/surface.ts";
import { createSlackSurface } from "../../../src/adapters/slack/surface/surface.ts";
import type { MessageRef } from "../../../src/chat/threads.ts";
import { startFakeDiscord } from "../../fakes/discord/fake-discord.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";
import { startFakeSlack } from "../../fakes/slack/fake-slack.ts";
import { visibleText } from "../../fakes/slack/blocks.ts";
import { storedOutbox } from "./stored-outbox.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const log = pino({ level: "silent" });
const notice = /^⚠️ I have finished, but my message could not be posted: /;

/** An answer, and the mark of the message that it answers. */
const answerTo = (ref: MessageRef, markdown: string) => ({
  "t:answer": { do: "post", message: { kind: "answer", markdown }, attempts: 0 },
  [`t:mark:${ref.message}`]: { do: "mark", ref, mark: "answered" },
});

/** Three parts of text, of which the last holds a word that the platform does not take. */
const parts = (chars: number) =>
  [..."abc"].map((letter) => `${letter} `.repeat(chars / 2)).join("\n\n") + "badword";

const begin = (text: string) => text.slice(0, 70);

async function onDiscord(markdown: string) {
  const discord = await startFakeDiscord({ hurry: 20 });
  onTestFinished(() => discord.close());
  const surface = createDiscordSurface({
    ...{ token: discord.token, apiUrl: discord.url, cdnUrl: discord.cdnUrl, messageContent: true, log },
  });
  const general = discord.channel("general");
  const root = discord.user("ada").says(general, "<@BOT> work");
  const place = { platform: "discord", workspace: discord.guild.id, channel: general.id };
  const ref = { ...place, message: `${general.id}/${root.id}` };
  const thread = `discord:${discord.guild.id}:${general.id}:${root.id}`;
  const outbox = storedOutbox(server.client(), thread, surface, answerTo(ref, markdown));
  return { discord, root, ...outbox };
}

describe("An answer of which Discord does not take a later part", () => {
  test("is followed by the reason, and marked as failed", async () => {
    const { discord, root, flush, problems, unsaid } = await onDiscord(parts(1_800));
    const posting = /^POST .*\/\d+\/messages$/;
    discord.fail(posting, { kind: "pass" }, 2);
    discord.fail(posting, { kind: "refuse", status: 400, code: 200_000, message: "Blocked by AutoMod" });
    expect(await flush()).toBeUndefined();
    const shown = discord.threadOf(root)?.messages.map(({ content }) => begin(content)) ?? [];
    expect(shown).toEqual([
      expect.stringMatching(/^a a /),
      expect.stringMatching(/^b b /),
      expect.stringMatching(notice),
    ]);
    expect([...root.reactions.keys()]).toEqual(["⚠️"]);
    expect(problems).toHaveLength(1);
    expect(await unsaid()).toBe("1");
  });
});

test("A refused answer leaves nothing to be done once its message is marked as failed", async () => {
  const { discord, root, flush, left } = await onDiscord("It is done.");
  const refusal = { kind: "refuse", status: 400, code: 200_000, message: "Blocked by AutoMod" } as const;
  discord.fail(/^POST .*\/\d+\/messages$/, refusal);
  await flush();
  expect([...root.reactions.keys()]).toEqual(["⚠️"]);
  expect(await left()).toEqual([]);
});

describe("An answer of which Slack does not take a later part", () => {
  test("is followed by the reason, which is not taken for a part of it when its own post is uncertain", async () => {
    const slack = await startFakeSlack();
    onTestFinished(() => slack.close());
    const surface = createSlackSurface({ botToken: slack.botToken, apiUrl: slack.url, log });
    const general = slack.channel("general");
    const root = await slack.user("ada").says(general, "<@BOT> work");
    const ref = { platform: "slack", workspace: slack.teamId, channel: general.id, message: root.ts };
    const thread = `slack:${slack.teamId}:${general.id}:${root.ts}`;
    const { flush } = storedOutbox(server.client(), thread, surface, answerTo(ref, parts(9_000)));
    slack.refuse("chat.postMessage", (args) =>
      JSON.stringify(args).includes("badword") ? "no_such_code" : undefined,
    );
    // The last that is tried before the reason is told.
    slack.refuse("files.getUploadURLExternal", () => {
      slack.fail("chat.postMessage", { kind: "lost-response" });
      return "file_uploads_disabled";
    });
    expect(await flush()).toBeUndefined();
    const replies = general.messages.filter(({ threadTs }) => threadTs === root.ts);
    expect(replies.map((reply) => begin(visibleText(reply)))).toEqual([
      expect.stringMatching(/^a a /),
      expect.stringMatching(/^b b /),
      expect.stringMatching(notice),
    ]);
  });
});
