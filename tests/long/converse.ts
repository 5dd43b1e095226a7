/** A conversation of many rounds with a service that refuses what is too long, and what became of it. */
import { createHash } from "node:crypto";
import { createContextWindow } from "../../src/agent/context/compaction.ts";
import { replay } from "../../src/agent/journal/replay.ts";
import type { JournalRecord } from "../../src/agent/journal/journal.ts";
import { createAnthropicModel } from "../../src/agent/llm/anthropic/anthropic.ts";
import { createOpenAIChatModel } from "../../src/agent/llm/openai/chat.ts";
import { isFromPerson } from "../../src/agent/messages.ts";
import { searchHistory } from "../../src/agent/tools/search-history.ts";
import { readerOf } from "../agent/journal-reader.ts";
import { counter, run, say, tool } from "../agent/turn.ts";
import { startFakeAnthropic } from "../fakes/anthropic.ts";
import { startFakeOpenAI } from "../fakes/openai.ts";

export interface Conversation {
  protocol: "anthropic" | "openai-chat";
  /** What the service takes, in its own tokens. Heddle believes in twice as much. */
  window: number;
  rounds: number;
}

export interface Findings {
  requests: number;
  refusals: number;
  summaries: number;
  /** The most summaries among any eight steps in a row. */
  summariesInEightSteps: number;
  lostWords: number;
  repeatedRefusals: number;
  failedTurns: number;
}

const largestResult = 6_000;
const mostCalls = 4;
const model = "claude-haiku-4-5";
/** The fake's tokenizer. */
const charsPerToken = 4;

/** Of one length, so that no number ends with another. */
const pad = (n: number) => String(n).padStart(4, "0");

/** What a person asks: now and then with code, or a long specification. */
function ask(n: number): string {
  const code = n % 7 === 0 ? `\n\`\`\`yaml\njobs:\n  build-${n}:\n    - run: make\n\`\`\`` : "";
  const more = n % 10 === 0 ? `\n${"- one more thing that matters\n".repeat(60)}Last of ${n}: blue.` : "";
  return `Wish ${pad(n)}: look into part ${n}.${code}${more}`;
}

export async function converse({ protocol, window, rounds }: Conversation): Promise<Findings> {
  await counter.load();
  const marks: ("step" | "summary")[] = [];
  const refused = new Set<string>();
  const found = { requests: 0, refusals: 0, repeatedRefusals: 0, failedTurns: 0 };
  const calls = Math.min(mostCalls, Math.ceil(window / 40 / largestResult));

  /** What the service says to a request: whether it is too long, and else what comes next. */
  const judge = (body: { messages: readonly object[]; tools?: readonly unknown[] | undefined }) => {
    const text = JSON.stringify(body);
    const digest = createHash("sha1").update(text).digest("base64");
    const tokens = Math.ceil(text.length / charsPerToken);
    found.requests += 1;
    if (refused.has(digest)) found.repeatedRefusals += 1;
    if (tokens > window) {
      found.refusals += 1;
      refused.add(digest);
      return { tokens, says: "too long" } as const;
    }
    const isSummary = !body.tools?.length;
    marks.push(isSummary ? "summary" : "step");
    const last = JSON.stringify(body.messages.at(-1));
    const isAnswered = last.includes('"tool_result"') || last.includes('"role":"tool"');
    return { tokens, says: isSummary ? "summary" : isAnswered ? "answer" : "call" } as const;
  };
  const said = {
    summary: "## Done\nParts were looked into.",
    answer: `Done. ${"It is as it was said. ".repeat(window / 1_200)}`,
  };
  const names = Array.from({ length: calls }, () => "look");

  const service =
    protocol === "anthropic"
      ? await startFakeAnthropic({
          models: {
            [model]: { contextTokens: 10_000_000, maxOutputTokens: 64_000, adaptiveThinking: false },
          },
          replies(body) {
            const { tokens, says } = judge(body);
            if (says === "too long")
              return {
                status: 400,
                type: "invalid_request_error",
                message: `prompt is too long: ${tokens} tokens > ${window} maximum`,
              };
            const content =
              says === "call"
                ? names.map((name) => ({ type: "tool_use", name, input: {} }) as const)
                : [{ type: "text", text: said[says] } as const];
            return { content, deltaSize: 1_000, usage: { input: tokens, output: 10 } };
          },
        })
      : await startFakeOpenAI({
          replies(body) {
            if (!("messages" in body)) throw new Error("The conversation goes over chat completions.");
            const { tokens, says } = judge(body);
            // Many compatible servers do not name their window.
            if (says === "too long")
              return { status: 400, type: "invalid_request_error", message: "context_length_exceeded" };
            const usage = { input: tokens, output: 10 };
            return says === "call"
              ? { calls: names.map((name) => ({ name, input: {} })), usage }
              : { text: said[says], deltaSize: 1_000, usage };
          },
        });
  const limits = { contextTokens: window * 2, maxOutputTokens: 4_000, images: false };
  const options = { model, limits, apiKey: service.apiKey };
  const talker =
    "baseUrl" in service
      ? createOpenAIChatModel({ ...options, baseUrl: service.baseUrl })
      : createAnthropicModel({ ...options, baseUrl: service.url });

  const journal: JournalRecord[] = [];
  const history = readerOf(() => journal, 200);
  const context = createContextWindow({ model: talker, counter });
  const system = `You look into things. ${"word ".repeat(window / 8)}`;
  const result = "found ".repeat(Math.min(largestResult, window / 40));
  const tools = [tool("look", "read", async () => result), searchHistory];
  try {
    for (let n = 1; n <= rounds; n += 1) {
      journal.push({ type: "turn-start", turn: `t${n}`, at: n }, { type: "user", message: say(ask(n), n) });
      const { outcome } = await run({
        model: talker,
        context,
        system,
        tools,
        journal,
        services: { history },
      });
      if (outcome.kind !== "answered") found.failedTurns += 1;
      journal.push({ type: "turn-end", turn: `t${n}`, outcome, at: n });
    }
  } finally {
    await service.close();
  }
  return {
    ...found,
    summaries: marks.filter((mark) => mark === "summary").length,
    summariesInEightSteps: countMostInEight(marks),
    lostWords: await countLostWords(journal, rounds),
  };
}

function countMostInEight(marks: readonly ("step" | "summary")[]): number {
  let steps = 0;
  const at = marks.flatMap((mark) => (mark === "summary" ? [steps] : ((steps += 1), [])));
  return Math.max(0, ...at.map((from) => at.filter((other) => other >= from && other < from + 8).length));
}

/** How many of people's messages are neither verbatim in view nor opened by search_history as the view says. */
async function countLostWords(journal: readonly JournalRecord[], rounds: number): Promise<number> {
  const { messages } = replay(journal);
  const [summary] = messages;
  const intents = summary?.role === "summary" ? (summary.intents ?? []) : [];
  const inView = new Set([
    ...messages.filter(isFromPerson).map(({ text }) => text),
    ...intents.map((text) => text.replace(/^\[Ada\] /, "")),
  ]);
  const search = async (input: { entry: number } | { query: string }) => {
    const services = { history: readerOf(() => journal, 200), now: () => 0, signal: AbortSignal.any([]) };
    // The tool uses nothing else of what a call gets.
    return (await searchHistory.run(input, services as Parameters<typeof searchHistory.run>[1])).text;
  };
  let lost = 0;
  for (let n = 1; n <= rounds; n += 1) {
    const text = ask(n);
    if (inView.has(text)) continue;
    const cut = intents.find((intent) => intent.startsWith(`[Ada] Wish ${pad(n)}:`));
    const hits = cut ?? (await search({ query: `Wish ${pad(n)}:` }));
    const entries = [...hits.matchAll(/#(\d+)/g)].map(([, entry]) => Number(entry));
    const opened = await Promise.all(entries.map((entry) => search({ entry })));
    if (!opened.some((whole) => whole.includes(text))) lost += 1;
  }
  return lost;
}
