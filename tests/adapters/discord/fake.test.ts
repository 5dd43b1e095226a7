import { DiscordAPIError, MessageFlags, RateLimitError, Routes } from "discord.js";
import { describe, expect, test } from "vitest";
import { createRest } from "../../../src/adapters/discord/rest.ts";
import { fakeDiscord, listening } from "./stage.ts";

/** The fake refuses what Discord refuses; the tests of the adapter lean on that. */

async function scene(options: Parameters<typeof fakeDiscord>[0] = {}) {
  const discord = await fakeDiscord(options);
  const rest = createRest({ token: discord.token, apiUrl: discord.url }, { timeoutMs: 5_000 });
  const general = discord.channel("general");
  const root = discord.user("ada").says(general, "hello");
  /** Gives the code of the refusal, or 0. */
  const code = async (work: Promise<unknown>): Promise<number> => {
    try {
      await work;
      return 0;
    } catch (error) {
      if (error instanceof DiscordAPIError) return Number(error.code);
      if (error instanceof RateLimitError) return 429;
      throw error;
    }
  };
  return { discord, rest, general, root, code };
}

const button = (custom_id: string) => ({ type: 2, style: 1, label: "x", custom_id });
const row = (...components: unknown[]) => ({ type: 1, components });

describe("the fake Discord refuses", () => {
  test.each<[number, Record<string, unknown>]>([
    [0, { content: "x".repeat(2_000) }],
    [50_035, { content: "x".repeat(2_001) }],
    [50_006, { content: " " }],
    [50_035, { content: "x", nonce: "n".repeat(26) }],
    [50_035, { content: "x", parse_mode: "Markdown" }],
    [50_035, { content: "x", flags: MessageFlags.Ephemeral }],
    [50_035, { content: "x", components: [row(button("a"), button("a"))] }],
    [50_035, { content: "x", components: [row(button("x".repeat(101)))] }],
    [50_035, { content: "x", components: [row()] }],
    [50_035, { content: "x", components: Array.from({ length: 6 }, (_row, at) => row(button(`${at}`))) }],
    [0, { content: "x", components: [row(button("x".repeat(100)))] }],
  ])("or takes a message: %i", async (expected, body) => {
    const { rest, general, code } = await scene();
    expect(await code(rest.post(Routes.channelMessages(general.id), { body }))).toBe(expected);
  });

  test("what is not there, not ours, or already so", async () => {
    const { discord, rest, general, root, code } = await scene();
    const threads = Routes.threads(general.id, root.id);
    expect(await code(rest.get(Routes.channel("11111111111111111")))).toBe(10_003);
    expect(await code(rest.get(Routes.channelMessage(general.id, "11111111111111111")))).toBe(10_008);
    expect(
      await code(rest.patch(Routes.channelMessage(general.id, root.id), { body: { content: "x" } })),
    ).toBe(50_005);
    expect(await code(rest.post(threads, { body: { name: "x".repeat(101) } }))).toBe(50_035);
    expect(await code(rest.post(threads, { body: { name: "x" } }))).toBe(0);
    expect(await code(rest.post(threads, { body: { name: "x" } }))).toBe(160_004);
    const stranger = createRest({ token: "a.b.c", apiUrl: discord.url }, { timeoutMs: 5_000 });
    expect(await code(stranger.get(Routes.user("@me")))).toBe(0);
  });

  test("more messages and reactions than it takes at once", async () => {
    const { rest, general, root, code } = await scene();
    const post = () => code(rest.post(Routes.channelMessages(general.id), { body: { content: "x" } }));
    const codes = [];
    for (let sent = 0; sent < 6; sent += 1) codes.push(await post());
    expect(codes).toEqual([0, 0, 0, 0, 0, 429]);
    const react = (emoji: string) =>
      code(rest.put(Routes.channelMessageOwnReaction(general.id, root.id, encodeURIComponent(emoji))));
    expect([await react("👀"), await react("✅")]).toEqual([0, 429]);
  });

  test("what the bot may not do there", async () => {
    const { discord, rest, general, code } = await scene();
    const post = () => code(rest.post(Routes.channelMessages(general.id), { body: { content: "x" } }));
    discord.deny(general, "SendMessages");
    expect(await post()).toBe(50_013);
    discord.deny(general, "ViewChannel");
    expect(await post()).toBe(50_001);
  });

  test("an answer to an interaction that comes too late, twice, or does not fit", async () => {
    const { discord, rest, general, root, code } = await scene({ ackMs: 40 });
    const { adapter } = await listening(discord);
    await adapter.stop();
    const ada = discord.user("ada");
    const answer = ({ id, token }: { id: string; token: string }, body: unknown) =>
      code(rest.post(Routes.interactionCallback(id, token), { body, auth: false }));
    const asked = ada.asks(general, { prompt: "hi" });
    expect(await answer(asked, { type: 8, data: { choices: [] } })).toBe(50_035);
    expect(await answer(asked, { type: 6 })).toBe(50_035);
    expect(await answer(asked, { type: 5 })).toBe(0);
    expect(await answer(asked, { type: 5 })).toBe(40_060);
    const late = ada.picks("Ask the agent about this", root);
    await discord.until(() => late.hasFailed);
    expect(await answer(late, { type: 5 })).toBe(10_062);
    const original = Routes.webhookMessage(discord.applicationId, asked.token, "@original");
    expect(await code(rest.patch(original, { body: { content: "x" }, auth: false }))).toBe(0);
    asked.expires = Date.now() - 1;
    expect(await code(rest.patch(original, { body: { content: "x" }, auth: false }))).toBe(50_027);
  });
});
