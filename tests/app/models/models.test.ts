import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createContextWindow } from "../../../src/agent/context/compaction.ts";
import { openModels } from "../../../src/app/models/models.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { counter, run, say } from "../../agent/turn.ts";
import { startFakeAnthropic } from "../../fakes/anthropic.ts";
import { startFakeOpenAI } from "../../fakes/openai.ts";

/** The models of an installation with a service of each protocol, as its `heddle.yaml` says. */
async function installation(yaml: string) {
  const anthropic = await startFakeAnthropic();
  const openai = await startFakeOpenAI({ dialect: "compatible" });
  const folder = await mkdtemp(join(tmpdir(), "heddle-models-"));
  onTestFinished(async () => {
    await Promise.all([anthropic.close(), openai.close(), rm(folder, { recursive: true })]);
  });
  writeFileSync(join(folder, "heddle.yaml"), yaml);
  const config = loadConfig(
    {
      ...{ ANTHROPIC_API_KEY: anthropic.apiKey, ANTHROPIC_BASE_URL: anthropic.url },
      ...{ OPENAI_API_KEY: openai.apiKey, OPENAI_BASE_URL: openai.baseUrl },
    },
    folder,
  );
  const warnings: unknown[] = [];
  const open = () => openModels(config, { warn: (...entry: unknown[]) => void warnings.push(entry) });
  return { anthropic, openai, warnings, open };
}

const overloaded = { status: 529, type: "overloaded_error", message: "Overloaded, says the service" };

describe("The configured models", () => {
  test("fall back in their order, and the log has what the service said", async () => {
    const { anthropic, openai, warnings, open } = await installation(
      "fallbackModels: [anthropic/claude-sonnet-5-5, openai/local]\nretry: { maxRetries: 0 }\n",
    );
    anthropic.push(overloaded);
    openai.push({ text: "Here." });
    const { model, failures } = await open();
    const { outcome, events } = await run({ model });
    expect(outcome).toMatchObject({ kind: "answered", text: "Here." });
    expect(events).toContainEqual({
      type: "notice",
      text: "The model service is busy (HTTP 529) after 1 attempt. Going on with openai/local.",
    });
    expect(warnings).toEqual([
      [
        expect.objectContaining({
          model: "anthropic/claude-sonnet-5-5",
          detail: expect.stringContaining("says the service"),
        }),
        expect.stringContaining("busy"),
      ],
    ]);
    expect(failures.list()).toEqual([
      expect.objectContaining({
        ...{ model: "anthropic/claude-sonnet-5-5", times: 1 },
        ...{ message: expect.stringContaining("busy"), detail: expect.stringContaining("says the service") },
      }),
    ]);
  });

  test("have a cheaper one for summaries, and the main one does it when that fails", async () => {
    const { anthropic, openai, open } = await installation("summaryModel: openai/local\n");
    const { model, summariser } = await open();
    expect([model.id, summariser.id]).toEqual(["anthropic/claude-sonnet-5-5", "openai/local"]);
    const context = createContextWindow({ model, summariser, counter });
    const summarise = async () => {
      const signal = new AbortController().signal;
      const messages = [say("one ".repeat(300)), say("two ".repeat(300)), say("three")];
      const fitting = context.compactToFit(messages, { fixed: "", force: true, signal });
      let summary = "";
      for await (const event of fitting) if (event.type === "summary") summary = event.message.text;
      return summary;
    };
    openai.push({ text: "By the cheap one." });
    expect(await summarise()).toContain("By the cheap one.");
    openai.push({ status: 404, type: "invalid_request_error", message: "no such model" });
    anthropic.push({ content: [{ type: "text", text: "By the main one." }] });
    expect(await summarise()).toContain("By the main one.");
  });

  test("have another for helpers, at its own price, and the main one helps when that is down", async () => {
    const price = { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 1 };
    const { anthropic, openai, open } = await installation(
      `taskModel: openai/local\nretry: { maxRetries: 0 }\nmodels: { openai/local: { price: ${JSON.stringify(price)} } }\n`,
    );
    const { helper } = await open();
    expect(helper).toMatchObject({ id: "openai/local", limits: { price } });
    openai.push({ status: 503, type: "server_error", message: "down" });
    anthropic.push({ content: [{ type: "text", text: "By the main one." }] });
    expect((await run({ ...(helper && { model: helper }) })).outcome).toMatchObject({
      text: "By the main one.",
    });
  });

  test("come back from a failure after a minute, also where the clock was set back meanwhile", async () => {
    const { anthropic, openai, open } = await installation(
      "fallbackModels: [openai/local]\nretry: { maxRetries: 0 }\n",
    );
    anthropic.push(overloaded);
    openai.push({ text: "Here." });
    const { model } = await open();
    await run({ model });
    expect(model.serving?.().id).toBe("openai/local");
    const [date, passed] = [Date.now(), performance.now()];
    onTestFinished(() => void vi.restoreAllMocks());
    vi.spyOn(Date, "now").mockReturnValue(date - 3_600_000);
    vi.spyOn(performance, "now").mockReturnValue(passed + 61_000);
    expect(model.serving?.().id).toBe("anthropic/claude-sonnet-5-5");
  });

  test("play their own helpers where no other is configured", async () => {
    const { open } = await installation("summaryModel: openai/local\n");
    expect((await open()).helper).toBeUndefined();
  });

  test("have the limits that the settings give", async () => {
    const { open } = await installation(
      "model: openai/local\nmodels: { openai/local: { contextTokens: 32000, maxOutputTokens: 1000 } }\n",
    );
    expect((await open()).model.limits).toMatchObject({ contextTokens: 32_000, maxOutputTokens: 1_000 });
  });

  test("are given up when they say nothing for the configured time", async () => {
    const { anthropic, openai, open } = await installation(
      "fallbackModels: [openai/local]\nretry: { maxRetries: 0, idleMs: 1000 }\n",
    );
    anthropic.push({ content: [{ type: "text", text: "Hello." }], breaks: { after: 4, how: "stall" } });
    openai.push({ text: "Hello. ".repeat(20), breaks: { after: 4, how: "stall" } });
    const { model } = await open();
    const { outcome, events } = await run({ model });
    const silence = "The model service sent nothing for 1 s";
    expect(events).toContainEqual({ type: "notice", text: expect.stringContaining(silence) });
    expect(outcome).toMatchObject({ kind: "model-error", text: expect.stringContaining(silence) });
  });

  test("are refused at start when one has no key", async () => {
    const { open } = await installation("fallbackModels: [minimax/MiniMax-M2.5]\n");
    await expect(open()).rejects.toThrow(/minimax\/MiniMax-M2\.5 needs MINIMAX_API_KEY/);
  });

  test("are others in a channel that names one, and where somebody has chosen one that may be chosen", async () => {
    const { open } = await installation(
      [
        "modelChoices: [openai/local]",
        "channels:",
        "  slack:T1:C1: { model: openai/local, modelChoices: [] }",
        "",
      ].join("\n"),
    );
    const { choose } = await open();
    const chosen = (channel: string, model?: string) => choose(`slack:T1:${channel}:1`, model).id;
    expect(chosen("C1")).toBe("openai/local");
    expect(chosen("C2")).toBe("anthropic/claude-sonnet-5-5");
    expect(chosen("C2", "openai/local")).toBe("openai/local");
    expect(chosen("C2", "openai/huge")).toBe("anthropic/claude-sonnet-5-5");
    expect(chosen("C1", "anthropic/claude-sonnet-5-5")).toBe("openai/local");
  });

  test("get the effort that somebody has chosen, where the service takes it", async () => {
    const { anthropic, openai, open } = await installation("modelChoices: [openai/local]\n");
    const { choose } = await open();
    anthropic.push({ content: [{ type: "text", text: "Hard." }] });
    openai.push({ text: "Easy." });
    const thread = "slack:T1:C1:1";
    await run({ model: choose(thread, undefined, "max") });
    await run({ model: choose(thread, "openai/local", "low") });
    expect(anthropic.bodies.at(-1)).toMatchObject({ output_config: { effort: "max" } });
    expect(openai.chats.at(-1)).toMatchObject({ reasoning_effort: "low" });
    expect(choose(thread, undefined, "max")).toBe(choose(thread, undefined, "max"));
  });
});
