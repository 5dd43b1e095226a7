import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AgentEvent } from "../../src/agent/events.ts";
import {
  type AssistantMessage,
  heddle,
  type ToolStatus,
  type UserMessage,
} from "../../src/agent/messages.ts";
import { noUsage } from "../../src/agent/model.ts";
import { createMasker } from "../../src/agent/secrets/mask-secrets.ts";
import { createReporter } from "../../src/progress/reporter.ts";
import { createRateLimiter } from "../../src/queue/outbox/rate-limit.ts";
import type { Verbosity } from "../../src/queue/session/choices/verbosity.ts";
import { noChanges, type Receipt } from "../../src/queue/turns/contracts.ts";
import { memoryChat } from "../fakes/memory-chat.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

function reporter({
  verbosity = "normal",
  resumed = false,
  mentionAfterMs,
  startedAt = 0,
  mask = (said) => said,
  ...options
}: {
  verbosity?: Verbosity;
  resumed?: boolean;
  mentionAfterMs?: number;
  startedAt?: number;
  mask?: (text: string) => string;
} & Parameters<typeof memoryChat>[0] = {}) {
  const chat = memoryChat(options);
  const problems: unknown[] = [];
  const display = createReporter({
    surface:
      mentionAfterMs === undefined
        ? chat.surface
        : { ...chat.surface, limits: { ...chat.surface.limits, mentionAfterMs } },
    thread: "memory:w:c:t",
    output: createRateLimiter(server.client()),
    turn: { id: "t1", startedAt, resumed, progress: undefined, calls: [] },
    verbosity,
    mark: () => Promise.resolve(),
    overtaken: () => Promise.resolve(undefined),
    onProgressPosted: () => Promise.resolve(),
    publish() {},
    deciders: () => [],
    mayMention: (person) => person !== "bot",
    mask,
    onProblem: (_, error) => problems.push(error),
  });
  const shows = (text: string) =>
    chat.until(() => {
      const markdown = chat.shown[0]?.message.markdown;
      return markdown?.includes(text) ? markdown : undefined;
    });
  return {
    chat,
    took: (...messages: UserMessage[]) => display.took(messages),
    show: (...events: AgentEvent[]) => events.forEach(display.event),
    shows,
    shown: () => chat.shown.map(({ message }) => message.markdown),
    waits: () => display.waiting(),
    close: () => display.close(),
    closing: (receipt: Receipt) => display.closing(receipt),
    /** What the progress message becomes when the turn ends; null: it goes. */
    last: (receipt = answered) => {
      const entry = display.closing(receipt)["t1:progress"];
      return entry?.do === "settle" ? entry.message : undefined;
    },
  };
}

const answered: Receipt = {
  outcome: { kind: "answered", text: "Done.", steps: 2, usage: noUsage },
  durationMs: 5,
  files: noChanges,
  withdrawn: [],
};

const text = (delta: string): AgentEvent => ({ type: "text-delta", step: 1, delta });
const begins: AgentEvent = { type: "step-start", step: 1 };

/** A call of the tool and its end. */
function called(name: string, input: object, result: string, status: ToolStatus = "ok"): AgentEvent[] {
  return [
    { type: "tool-start", step: 1, call: { id: name, name, input } },
    {
      ...{ type: "tool-end", step: 1, durationMs: 1 },
      message: { role: "tool", callId: name, name, status, text: result },
    },
  ];
}

describe("The progress of a turn", () => {
  test("keeps what people have read of an answer that was cut off, and nothing of one that had its end", () => {
    const outcome = { kind: "stopped", order: { by: "Ada", at: 1 }, steps: 1, usage: noUsage } as const;
    const { show, last } = reporter();
    show(begins, text("First, "), text("second"));
    expect(last({ ...answered, outcome })?.markdown).toBe("🛑 **Stopped**\n\nFirst, second");
    const message: AssistantMessage = {
      ...{ role: "assistant", id: "a1", model: "m", stop: "end" },
      parts: [{ type: "text", text: "First, second" }],
    };
    show({ type: "assistant", step: 1, message, usage: noUsage });
    expect(last({ ...answered, outcome })).toBeNull();
  });

  test("shows what a reply says once, also when its stream broke off and was asked for again", async () => {
    const { show, shows, close } = reporter();
    show(begins, text("Once upon"));
    show({ type: "retry", step: 1, attempt: 2, delayMs: 2_000, reason: "The service is busy." });
    const waiting = await shows("Trying again in 2 s (attempt 2).");
    expect(waiting).not.toContain("Once");
    show(text("Once upon a time"));
    expect((await shows("a time")).match(/Once/g)).toHaveLength(1);
    await close();
  });

  test("starts the text over when another model takes over", async () => {
    const { show, shows, close } = reporter();
    show(begins, text("Half an"), begins, { type: "notice", text: "Busy. Going on with b/2." });
    show(text("Whole"));
    const markdown = await shows("Whole");
    expect(markdown).not.toContain("Half an");
    expect(markdown).toContain("Going on with b/2.");
    await close();
  });

  test("tells that the conversation was summarised while the model works on", async () => {
    const { show, shows, close } = reporter();
    const message = { role: "summary", text: "s" } as const;
    show({ type: "summary", message, keep: 1, usage: noUsage, before: 9_000, after: 2_000 }, begins);
    await shows("Older messages were summarised (9,000 tokens to 2,000 tokens).");
    await close();
  });

  test("has the plan as a checklist that changes with it, and no line for its calls", async () => {
    const { show, shows, last, close } = reporter();
    show(begins, ...called("todo", { items: [] }, "0 of 2 done\n[>] read\n[ ] write"));
    expect(await shows("▸ read")).toContain("☐ write");
    show(...called("todo", { items: [] }, "1 of 2 done\n[x] read\n[>] write"));
    const markdown = await shows("☑ read");
    expect(markdown).toContain("**Plan** · 1 of 2 done");
    expect(markdown).not.toContain("todo");
    // Apart from what is streamed below it, so that the console can take that away when the answer comes.
    const { calls } = last() ?? {};
    expect(calls).toMatchObject({ items: [], below: "" });
    expect(calls?.above).toContain("☑ read");
    show(...called("todo", {}, "INVALID_PARAM", "error"));
    await close();
    expect(last()?.markdown).toMatch(/\*\*What was done\*\*[\s\S]*☑ read[\s\S]*▸ write/);
  });

  test("shows what a sub-agent does below its call, in the words of its task", async () => {
    const { show, shows, close } = reporter();
    const call = { id: "c1", name: "task", input: { access: "read", task: "Count the files" } };
    show(begins, { type: "tool-start", step: 1, call });
    show({ type: "tool-output", callId: "c1", chunk: '▸ list_files {"path":"src"}\n' });
    expect(await shows("▸ list_files")).toContain("`task` `Count the files`");
    await close();
  });

  test("goes on in a new message where the old one is hard to edit by then", async () => {
    const { chat, show, shows, close } = reporter({ editableMs: -1 });
    show(begins, text("Once"));
    await shows("Once");
    show(text(" upon"));
    await chat.until(() => chat.shown.length === 1 && chat.shown[0]?.message.markdown.includes("Once upon"));
    expect(chat.shown[0]).toMatchObject({ edits: 0 });
    await close();
    expect(chat.shown).toHaveLength(1);
  });

  test("is gone at the end when there was nothing but the answer", async () => {
    const { show, shows, last, close } = reporter();
    show(begins, text("Hello"));
    await shows("Hello");
    await close();
    expect(last()).toBeNull();
  });
});

describe("A thread that wants to see", () => {
  test("only answers gets no progress, and its end leaves none", async () => {
    const { show, close, last, shown } = reporter({ verbosity: "quiet" });
    show(begins, text("I am looking"), ...called("bash", { command: "ls" }, "a.txt"));
    await close();
    expect(shown()).toEqual([]);
    expect(last()).toBeNull();
  });

  test("everything gets each call with the start of its result, which cannot break out of its frame", async () => {
    const { show, shows, last } = reporter({ verbosity: "full" });
    const output = ["```", "a.txt", "b.txt", "c.txt", "d.txt", "e.txt"].join("\n");
    show(begins, ...called("bash", { command: "ls" }, output));
    const framed = "✓ `bash` `ls`\n```\nˋˋˋ\na.txt\nb.txt\nc.txt\n… 2 more lines\n```";
    expect(await shows("2 more lines")).toContain(framed);
    expect(last()?.markdown).toContain(framed);
    // What can be folded away may be longer.
    expect(last()?.calls?.items).toMatchObject([{ state: "ok", result: output }]);
  });
});

describe("A turn that a limit has paused", () => {
  const closing = (said: string) => {
    const usage = { ...noUsage, input: 7 };
    const outcome = { kind: "step-limit", limit: "6 steps", text: said, steps: 6, usage } as const;
    const entries = Object.values(reporter().closing({ ...answered, outcome }));
    return entries.flatMap((entry) => (entry.do === "post" ? [entry.message] : []));
  };
  const offer = {
    markdown: expect.stringMatching(/^\*\*Paused at the limit of 6 steps/),
    actions: [{ id: "continue:t1", label: "Continue", style: "primary" }],
  };

  test("posts what it has said, and the offer to continue as a message of its own", () => {
    expect(closing("Half of it is done.")).toMatchObject([
      { markdown: "Half of it is done.", footer: "6 steps · 5 ms · 7 tokens" },
      offer,
    ]);
  });

  test("posts the offer alone, with the figures, when it has said nothing", () => {
    expect(closing("")).toMatchObject([{ ...offer, footer: "6 steps · 5 ms · 7 tokens" }]);
  });
});

test("Progress tells the time that has passed, which moves on with each edit", async () => {
  const { show, shows } = reporter({ startedAt: Date.now() - 65_000 });
  show(...called("bash", { command: "ls" }, "a.txt"));
  const headline = /^⏳ \*\*Working\*\* · 1 min (\d+) s/;
  const first = Number(headline.exec(await shows("`ls`"))?.[1]);
  expect(first).toBeGreaterThanOrEqual(5);
  await expect
    .poll(
      async () => {
        show(...called("bash", { command: "pwd" }, "/workspace"));
        return Number(headline.exec(await shows("`pwd`"))?.[1]);
      },
      { timeout: 10_000 },
    )
    .toBeGreaterThan(first);
});

test("says beside the thread what it does, once, and takes it away at the end", async () => {
  const { chat, show, close } = reporter();
  show(begins, begins, text("Hello"));
  await chat.until(() => chat.statuses.length === 1);
  await close();
  await chat.until(() => chat.statuses.length === 2);
  expect(chat.statuses).toEqual(["is thinking…", undefined]);
});

test("says nothing beside the thread about what is over at once, and ends what another worker has left there", async () => {
  const { chat, show, close } = reporter();
  show(begins, text("Hello"));
  await close();
  expect(chat.statuses).toEqual([]);

  const second = reporter({ resumed: true });
  second.took();
  await second.close();
  await second.chat.until(() => second.chat.statuses.length > 0);
  expect(second.chat.statuses).toEqual([undefined]);
});

test("says that it waits when people are to decide something", async () => {
  const { chat, show, waits, close } = reporter();
  show(begins);
  waits();
  await close();
  await chat.until(() => chat.statuses.length === 1);
  expect(chat.statuses).toEqual(["(waits)"]);
});

test("shows no half of a secret where a call or a text is cut", async () => {
  const masker = createMasker([]);
  const { chat, show, shows, close } = reporter({ mask: (said) => masker.mask(said) });
  const token = `ghp_${"aB3".repeat(12)}`;
  const command = `git clone --depth 1 --branch a-name-that-is-rather-long-in-itself-already https://x:${token}@github.com/acme/shop`;
  const title = `${"look ".repeat(18)}${token}`;
  show(...called("bash", { command, title }, "fine"), text(`It is ${token} ${"so ".repeat(398)}`));
  await shows("so so");
  expect(JSON.stringify(chat.shown[0]?.message)).not.toContain("aB3aB3");
  expect(chat.shown[0]?.message.calls?.items[0]?.about).toContain("https://x:[masked]@");
  await close();
});

test("shows a token that the agent writes only once it is whole, and can be masked", async () => {
  const masker = createMasker([]);
  const { chat, show, shows, close } = reporter({ mask: (said) => masker.mask(said) });
  show(begins, text(`The token is ghp_${"aB3".repeat(11)}`));
  await shows("The token is");
  expect(chat.shown[0]?.message.markdown).toMatch(/The token is\s*$/);
  show(text("aB3 as you asked"));
  await shows("The token is [masked] as you asked");
  await close();
});

test("offers its calls apart too, each with a name of its own, for platforms that have more than text", async () => {
  const { chat, show, shows, close } = reporter();
  // Some models give two calls the same id.
  for (const command of Array(14).keys()) show(...called("bash", { command: `ls ${command}` }, "a.txt"));
  show(text("I am looking."));
  await shows("looking");
  const calls = chat.shown[0]?.message.calls;
  expect(calls).toMatchObject({
    above: expect.stringMatching(/^⏳ \*\*Working\*\* · \d.*$/),
    turn: "t1",
    earlier: 2,
    below: "I am looking.",
  });
  expect(calls?.items).toHaveLength(12);
  expect(new Set(calls?.items.map(({ id }) => id)).size).toBe(12);
  expect(calls?.items[0]).toMatchObject({ id: "2", name: "bash", about: "ls 2", state: "ok" });
  await close();
});

test("keeps what a call prints while it runs apart from the text, with when it began", async () => {
  const { chat, show, shows, close } = reporter();
  const call = { id: "c1", name: "bash", input: { command: "make" } };
  show(begins, { type: "tool-start", step: 1, call });
  const printed = Array.from({ length: 30 }, (_, line) => `line ${line}\n`).join("");
  show({ type: "tool-output", callId: "c1", chunk: printed });
  await shows("line 29");
  const shown = chat.shown[0]?.message;
  expect(shown?.markdown).not.toContain("line 25");
  expect(shown?.calls?.items[0]).toMatchObject({
    ...{ callId: "c1", state: "running", startedAt: expect.any(Number) },
    output: expect.stringMatching(/^line 11\n[\s\S]*line 29\n$/),
  });
  show({
    ...{ type: "tool-end", step: 1, durationMs: 42 },
    message: { role: "tool", callId: "c1", name: "bash", status: "ok", text: "exit code 0\ndone" },
  });
  await chat.until(() => chat.shown[0]?.message.calls?.items[0]?.state === "ok");
  expect(chat.shown[0]?.message.calls?.items[0]).toEqual({
    ...{ id: "0", callId: "c1", name: "bash", about: "make", state: "ok", tookMs: 42 },
  });
  await close();
});

test("shows each of two calls with one id as it ended", async () => {
  const { chat, show, shows, close } = reporter({ verbosity: "full" });
  show(...called("bash", { command: "ls" }, "no such folder", "error"));
  show(...called("bash", { command: "pwd" }, "/workspace"));
  show(text("I am looking."));
  await shows("looking");
  expect(chat.shown[0]?.message.calls?.items).toMatchObject([
    { about: "ls", state: "error", result: "no such folder" },
    { about: "pwd", state: "ok", result: "/workspace" },
  ]);
  await close();
});

test("says it again before it fades, and no more where it cannot be said", async () => {
  const { chat, show, close } = reporter({ statusMs: 5 });
  show(begins);
  await chat.until(() => chat.statuses.length === 3);
  const asked = Promise.withResolvers<void>();
  let times = 0;
  chat.surface.status = () => {
    times += 1;
    asked.resolve();
    return Promise.reject(new Error("not here"));
  };
  await asked.promise;
  // As long as it takes to say it three times.
  const other = reporter({ statusMs: 5 });
  other.show(begins);
  await other.chat.until(() => other.chat.statuses.length === 3);
  expect(times).toBe(1);
  await Promise.all([close(), other.close()]);
});

test("says nothing more beside the thread when its first message arrives after the end of the turn", async () => {
  const [posting, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holdsPost = () => {
    posting.resolve();
    return held.promise;
  };
  const { chat, show, close } = reporter({ statusMs: 5, statusEndsWithPosts: true, holdsPost });
  show(begins, text("Hello"));
  await posting.promise;
  await chat.until(() => chat.statuses.length > 0);
  const closed = close();
  held.resolve();
  await closed;
  show(begins);
  // As long as it takes to say it three times.
  const other = reporter({ statusMs: 5 });
  other.show(begins);
  await other.chat.until(() => other.chat.statuses.length === 3);
  expect(chat.statuses.slice(chat.statuses.indexOf(undefined))).toEqual([undefined]);
  await other.close();
});

describe("The end of a long turn", () => {
  const says = (id: string, more: Partial<UserMessage> = {}): UserMessage => ({
    ...{ role: "user", id: `m${id}`, author: { id, name: id }, text: "hi", at: 1 },
    ...more,
  });
  const ending = (startedAt: number, receipt: Receipt = answered) => {
    const { took, closing } = reporter({ mentionAfterMs: 60_000, startedAt });
    took(says("ada"), says("bot"), says("ada"), says("bob", { scheduled: true }));
    took(says("note", { author: heddle }), says("cleo"));
    const entry = closing(receipt)["t1:answer"];
    return entry?.do === "post" ? entry.message.mentions : undefined;
  };

  test("calls the people who asked, each once, and neither bots nor who has planned it", () => {
    expect(ending(Date.now() - 61_000)).toEqual(["ada", "cleo"]);
    const outcome = { kind: "model-error", text: "No.", steps: 1, usage: noUsage } as const;
    expect(ending(Date.now() - 61_000, { ...answered, outcome })).toEqual(["ada", "cleo"]);
  });

  test("calls each person as they have chosen, whatever the operator has set", () => {
    const mentionChoices = new Map([["ada", "off"] as const, ["cleo", "on"] as const]);
    expect(ending(Date.now() - 61_000, { ...answered, mentionChoices })).toEqual(["cleo"]);
    expect(ending(Date.now() - 1_000, { ...answered, mentionChoices })).toEqual(["cleo"]);
    const outcome = { kind: "stopped", order: { by: "Ada", at: 1 }, steps: 1, usage: noUsage } as const;
    expect(ending(Date.now(), { ...answered, outcome, mentionChoices })).toBeUndefined();
  });

  test("calls nobody when it was stopped, and that of a short turn neither", () => {
    const outcome = { kind: "stopped", order: { by: "Ada", at: 1 }, steps: 1, usage: noUsage } as const;
    expect(ending(Date.now() - 61_000, { ...answered, outcome })).toBeUndefined();
    expect(ending(Date.now() - 30_000)).toBeUndefined();
  });

  test("calls nobody on a platform that notifies people by itself", () => {
    const { took, closing } = reporter();
    took(says("ada"));
    expect(closing(answered)["t1:answer"]).not.toHaveProperty("message.mentions");
  });
});
