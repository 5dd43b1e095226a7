import { DiscordAPIError, MessageFlags, RateLimitError, Routes } from "discord.js";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createRest } from "../../../src/adapters/discord/connection/rest.ts";
import { fakeDiscord, startAdapter } from "./connected-adapter.ts";

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

  test("bodies that are no JSON, replies to what is gone, edits that leave nothing, and too many files", async () => {
    const { discord, rest, general, code } = await scene();
    const raw = await fetch(`${discord.url}/v10${Routes.channelMessages(general.id)}`, {
      method: "POST",
      headers: { authorization: `Bot ${discord.token}`, "content-type": "application/json" },
      body: "{",
    });
    expect(await raw.json()).toMatchObject({ code: 50_109 });
    const post = (body: object) => rest.post(Routes.channelMessages(general.id), { body });
    const gone = { message_id: "11111111111111111" };
    expect(await code(post({ content: "x", message_reference: gone }))).toBe(50_035);
    const posted = await post({
      content: "x",
      message_reference: { ...gone, fail_if_not_exists: false },
    });
    const { id } = z.object({ id: z.string() }).parse(posted);
    expect(await code(rest.patch(Routes.channelMessage(general.id, id), { body: { content: "" } }))).toBe(
      50_006,
    );
    const files = Array.from({ length: 11 }, (_file, at) => ({ name: `${at}`, data: Buffer.from("x") }));
    expect(await code(rest.post(Routes.channelMessages(general.id), { body: {}, files }))).toBe(50_035);
  });

  test("more requests at once than Discord takes of one bot, but for what answers interactions", async () => {
    const { discord, rest, general } = await scene({ hurry: 0.05 });
    const other = createRest({ token: discord.token, apiUrl: discord.url }, { timeoutMs: 5_000 });
    const load = (from: typeof rest) => from.get(Routes.channel(general.id)).catch((error: unknown) => error);
    const results = await Promise.all(Array.from({ length: 52 }, (_call, at) => load(at % 2 ? rest : other)));
    expect(results.some((result) => result instanceof RateLimitError && result.global)).toBe(true);
    const late = discord.user("ada");
    const callback = Routes.interactionCallback(late.id, "x");
    const answered = await fetch(`${discord.url}/v10${callback}`, { method: "POST", body: '{"type":6}' });
    expect(await answered.json()).toMatchObject({ code: 10_062 });
  });

  test.each([
    [4013, { intents: 1 << 30 }],
    [4004, { token: "another" }],
    [4010, { shard: [1, 1] }],
  ])("an identification that is wrong: %i", async (code, wrong) => {
    const { discord } = await scene();
    const socket = new WebSocket(`${discord.cdnUrl.replace("http", "ws")}/gateway?v=10&encoding=json`);
    const properties = { os: "", browser: "", device: "" };
    socket.addEventListener("open", () =>
      socket.send(JSON.stringify({ op: 2, d: { token: discord.token, intents: 1, properties, ...wrong } })),
    );
    const closed = Promise.withResolvers<number>();
    socket.addEventListener("close", (event) => closed.resolve(event.code));
    expect(await closed.promise).toBe(code);
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
    const { rest, general, root, code } = await scene({ hurry: 0.05 });
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
    const { discord, rest, general, root, code } = await scene();
    const { adapter } = await startAdapter(discord);
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
    discord.lapse(late);
    expect(await answer(late, { type: 5 })).toBe(10_062);
    const original = Routes.webhookMessage(discord.applicationId, asked.token, "@original");
    expect(await code(rest.patch(original, { body: { content: "x" }, auth: false }))).toBe(0);
    asked.expires = Date.now() - 1;
    expect(await code(rest.patch(original, { body: { content: "x" }, auth: false }))).toBe(50_027);
  });
});
