import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { routes } from "../../../src/adapters/console/api/api.ts";
import { noUsage } from "../../../src/agent/model.ts";
import type { Asking, Question } from "../../../src/agent/questions.ts";
import { settingsSchema } from "../../../src/config/schema.ts";
import { createNameCache } from "../../../src/operations/names.ts";
import type { AuditPage, SearchPage, ThreadFacets, ThreadPage } from "../../../src/operations/finding.ts";
import type { QuestionLine } from "../../../src/operations/operations.ts";
import type { TimelinePage } from "../../../src/operations/timeline/timeline-entry.ts";
import { createBudgets } from "../../../src/queue/budgets/budgets.ts";
import { formatDay } from "../../../src/queue/budgets/usage.ts";
import { announceSession, createLivePublisher } from "../../../src/queue/outbox/live-events.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { continueActionId } from "../../../src/queue/session/continue-offer.ts";
import { editMessage } from "../../../src/queue/session/mailbox/message-changes.ts";
import { askQuestion, decide } from "../../../src/queue/session/questions/open-questions.ts";
import { startPresence } from "../../../src/queue/turns/worker-presence.ts";
import { openAuditLog } from "../../../src/telemetry/audit/log.ts";
import { noonZone } from "../../fakes/noon.ts";
import type { Need } from "../../../src/adapters/console/api/question-routes.ts";
import { call as request, openStream } from "./requests.ts";
import { askChoice, begin, call, calling, end, resultOf, usageOf, write } from "./sessions.ts";
import { secret, startConsole, type TestConsole } from "./start-console.ts";

let console: TestConsole;
let redis: ReturnType<TestConsole["redis"]["client"]>;
const token = "correct-horse-battery";
const timeZone = noonZone();
const budgets = { timeZone, day: { cost: 10 }, user: { tokens: 50_000 } };

beforeAll(async () => {
  console = await startConsole({ budgets });
  redis = console.redis.client();
});
afterAll(() => console[Symbol.asyncDispose]());

let threads = 0;
const newThread = (platform = "slack") => `${platform}:T1:C1:${(threads += 1)}.5`;
const onError = (error: unknown) => {
  throw error;
};

async function get(path: string): Promise<unknown> {
  const answer = await request(console.url, path);
  expect([path, answer.status]).toEqual([path, 200]);
  return answer.json();
}
const timeline = async (thread: string, query = "") =>
  // The shape is what these tests are about.
  (await get(`/api/sessions/${encodeURIComponent(thread)}/timeline${query}`)) as TimelinePage;
const post = (thread: string, verb: string) =>
  request(console.url, `/api/sessions/${encodeURIComponent(thread)}/${verb}`, { method: "POST", json: {} });

const answered = (cost: number) =>
  ({ kind: "answered", text: "Done.", steps: 2, usage: usageOf(cost, { calls: 2 }) }) as const;

describe("every address of the API", () => {
  const addresses = routes.map(({ method, path }) => ({
    method,
    path: path.replaceAll(/:\w+/g, "abcdefgh1"),
  }));

  let guarded: TestConsole;
  beforeAll(async () => {
    guarded = await startConsole({ redis: console.redis, token });
  });
  afterAll(() => guarded[Symbol.asyncDispose]());

  test.each(addresses)("$method $path tells nothing to whoever lacks the token", async ({ method, path }) => {
    const json = method === "POST" ? { json: {} } : {};
    expect((await request(guarded.url, path, { method, ...json })).status).toBe(401);
    const own = { authorization: `Bearer ${token}` };
    const foreign = { ...own, origin: "https://evil.example" };
    expect((await request(guarded.url, path, { method, ...json, headers: foreign })).status).toBe(403);
    const named = { host: "evil.example" };
    expect((await request(console.url, path, { method, ...json, headers: named })).status).toBe(421);
    expect(guarded.intake.events).toEqual([]);
  });
});

describe("the list of all threads", () => {
  test("tells of each platform's threads what they are, how they stand and what they cost", async () => {
    const [running, waiting, next, done] = [
      newThread("discord"),
      newThread(),
      newThread(),
      newThread("local"),
    ];
    await write(redis, running, "## Deploy **the site**\nplease");
    await begin(redis, running);
    await write(redis, waiting, "Count the stars");
    await write(redis, next, "And the planets");
    await write(redis, done, `My key is ${secret}`);
    await end(await begin(redis, done), answered(0.25));
    const { lines } = (await get("/api/sessions")) as ThreadPage;
    expect(lines).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          thread: running,
          platform: "discord",
          title: "Deploy the site",
          state: "running",
        }),
        expect.objectContaining({ thread: waiting, state: "waiting", place: 1 }),
        expect.objectContaining({ thread: next, state: "waiting", place: 2 }),
        expect.objectContaining({ thread: done, state: "idle", ended: "answered", cost: 0.25 }),
      ]),
    );
    expect(JSON.stringify(lines)).not.toContain(secret);
    await Promise.all([waiting, next].map((thread) => begin(redis, thread)));
  });

  test("is filtered, sorted and added up, and beyond its first page it goes on", async () => {
    const thread = async (id: string, text: string, author: string, cost: number) => {
      await write(redis, id, text, author);
      const lease = await begin(redis, id);
      await lease.append([calling(1, [{ type: "text", text: "Done." }])]);
      await end(lease, answered(cost));
      // The next one is younger.
      await setTimeout(2);
    };
    await thread("slack:T5:C1:1", "Prune the roses", "Flora", 0.5);
    await thread("slack:T5:C2:1", "Prune the apple tree", "Flora", 2);
    await thread("discord:T5:C1:1", "Sow the peas", "Pomona", 1);
    const found = async (query: string) => {
      const page = (await get(`/api/sessions?words=T5&${query}`)) as ThreadPage;
      return page.lines.map(({ title }) => title.split(" ").at(-1));
    };
    expect(await found("")).toEqual(["peas", "tree", "roses"]);
    expect(await found("sort=oldest")).toEqual(["roses", "tree", "peas"]);
    expect(await found("sort=cost")).toEqual(["tree", "peas", "roses"]);
    expect(await found("person=Flora&minCost=1")).toEqual(["tree"]);
    expect(await found("channel=slack:T5:C1")).toEqual(["roses"]);
    expect(await found("platform=discord&model=anthropic/claude&state=answered")).toEqual(["peas"]);
    expect(await found("state=failed")).toEqual([]);
    expect(await found(`until=${Date.now() - 3_600_000}`)).toEqual([]);
    expect(await found(`since=${Date.now() - 3_600_000}&limit=1&offset=1`)).toEqual(["tree"]);
    const page = (await get("/api/sessions?words=T5&limit=1")) as ThreadPage & { facets: ThreadFacets };
    expect(page).toMatchObject({ found: 3, offset: 0, totals: { cost: 3.5, running: 0 } });
    expect(page.facets).toMatchObject({
      people: expect.arrayContaining(["Flora", "Pomona"]),
      channels: expect.arrayContaining([{ id: "slack:T5:C2", name: "C2" }]),
      models: ["anthropic/claude"],
    });
    expect((await request(console.url, "/api/sessions?sort=colour")).status).toBe(400);
  });

  test("finds the oldest of 450 threads by its title, and by what was said in it", async () => {
    const ids = Array.from({ length: 450 }, (_, n) => `slack:T6:C1:${n}.5`);
    for (const [n, id] of ids.entries()) {
      await write(redis, id, n === 0 ? "Where is the xylophone?" : `Question ${n}`);
      const lease = await begin(redis, id);
      const said = n === 0 ? `In the CELLAR, "of course" ${secret}` : "I do not know.";
      await lease.append([
        calling(1, [{ type: "text", text: said }]),
        resultOf("c", "bash", "cellar kitchen"),
      ]);
      await end(lease, answered(0.01));
    }
    const page = (await get("/api/sessions")) as ThreadPage;
    expect([page.lines.length, page.all >= 450]).toEqual([100, true]);
    expect(await get("/api/sessions?words=xylophone")).toMatchObject({
      found: 1,
      lines: [{ thread: ids[0] }],
    });
    const search = async (words: string, after = "") =>
      (await get(`/api/search?words=${encodeURIComponent(words)}${after}`)) as SearchPage;
    const searchAll = async (words: string) => {
      const found: SearchPage["found"] = [];
      for (let after = ""; ; ) {
        const part = await search(words, after);
        found.push(...part.found);
        if (!part.next) return found;
        after = `&after=${encodeURIComponent(JSON.stringify(part.next))}`;
      }
    };
    const line: unknown = expect.objectContaining({ thread: ids[0] });
    expect(await searchAll('cellar "of')).toEqual([{ line, excerpt: 'In the CELLAR, "of course" [masked]' }]);
    // What a tool has printed was said by nobody, and a part of a secret finds nothing.
    expect(await searchAll("cellar kitchen")).toEqual([]);
    expect(await searchAll(secret.slice(0, 12))).toEqual([]);
    expect((await search("know")).found.length).toBeLessThanOrEqual(20);
    const all = (await searchAll("know")).map(({ line: { thread } }) => thread);
    expect([all.length, new Set(all).size]).toEqual([449, 449]);
  });

  test.each([
    ["NFC", "NFD"],
    ["NFD", "NFC"],
  ])("finds words with accents that are written in %s by those in %s", async (said, asked) => {
    const thread = newThread();
    await write(redis, thread, `The CAFÉ in ${said}`.normalize(said));
    const lease = await begin(redis, thread);
    await lease.append([calling(1, [{ type: "text", text: `A crème brûlée in ${said}`.normalize(said) }])]);
    await end(lease, answered(0.01));
    const find = (words: string) => encodeURIComponent(`${words} ${said}`.normalize(asked));
    expect(await get(`/api/sessions?words=${find("café")}`)).toMatchObject({ found: 1, lines: [{ thread }] });
    const excerpt = `A crème brûlée in ${said}`;
    const found = { found: [{ line: { thread }, excerpt }] };
    expect(await get(`/api/search?words=${find("brûlée")}`)).toMatchObject(found);
    const query = `/api/sessions/${encodeURIComponent(thread)}/search?query=`;
    const inside = await get(`${query}${encodeURIComponent("Brûlée".normalize(asked))}`);
    expect(inside).toMatchObject({ found: [{ excerpt }] });
  });

  test("finds an address that was said in a message which Redis itself has written anew", async () => {
    const thread = "slack:T7:C1:1.5";
    const message = await write(redis, thread, "Look at the build");
    const text = "Look at https://ci.example.com/builds/4711 again";
    const edit = { message, author: { id: "Ada", name: "Ada" }, at: Date.now(), text };
    expect(await editMessage(redis, thread, edit)).toBe("changed");
    await end(await begin(redis, thread), answered(0.01));
    const words = encodeURIComponent("ci.example.com/builds/4711");
    expect(await get(`/api/search?words=${words}`)).toMatchObject({ found: [{ line: { thread } }] });
  });

  test("comes anew on the stream when something in it has changed", async () => {
    using page = await openStream(console.url, "/api/sessions/events");
    await page.next("sessions");
    const thread = newThread();
    await write(redis, thread, "Watch me");
    createLivePublisher(redis, thread, onError)({ type: "turn-start" });
    for (;;) {
      const lines = await page.next("sessions");
      if (JSON.stringify(lines).includes(thread)) break;
    }
  });
});

describe("a thread's timeline", () => {
  test("has model calls with tokens and cost, tool calls with results, compactions and the end", async () => {
    const thread = newThread();
    await write(redis, thread, "What is in the folder?");
    const lease = await begin(redis, thread);
    await lease.append([
      {
        ...calling(1, [{ type: "text", text: "Looking." }, call("c1", "bash", { command: `ls ${secret}` })]),
        troubles: [`Overloaded ${secret}. Tried again after 0.9 s.`],
      },
      { type: "tool-start", callId: "c1", at: Date.now() },
      resultOf("c1", "bash", `${secret}\n${"x".repeat(20_000)}`),
      { type: "trim", callIds: ["c1"], before: 9_000, after: 4_000, at: Date.now() },
      {
        ...{ type: "summary", keep: 2, usage: usageOf(0.002), before: 4_000, after: 900, at: Date.now() },
        message: { role: "summary", text: "People asked for the folder." },
      },
      calling(2, [{ type: "text", text: "Two files." }]),
    ]);
    await end(lease, answered(0.02));

    const { entries, from, length } = await timeline(thread);
    expect([from, length]).toEqual([0, 9]);
    expect(entries.map(({ kind }) => kind)).toEqual([
      ...[
        "turn-start",
        "message",
        "model",
        "tool-start",
        "tool-result",
        "trim",
        "summary",
        "model",
        "turn-end",
      ],
    ]);
    expect(entries[2]).toMatchObject({
      ...{ step: 1, model: "anthropic/claude", tookMs: expect.any(Number) },
      figures: { input: 1_200, output: 300, cacheRead: 5_400, cost: 0.01 },
      troubles: { text: "Overloaded [masked]. Tried again after 0.9 s." },
      calls: [{ id: "c1", name: "bash", arguments: { text: expect.stringContaining("ls [masked]") } }],
    });
    expect(entries[4]).toMatchObject({ status: "ok", tookMs: 420, text: { omitted: expect.any(Number) } });
    expect(entries[5]).toMatchObject({ calls: 1, before: 9_000, after: 4_000 });
    expect(entries[6]).toMatchObject({ before: 4_000, after: 900, kept: 2 });
    expect(JSON.stringify(entries)).not.toContain(secret);
    expect(JSON.stringify(entries).length).toBeLessThan(20_000);
  });

  test("has what a sub-agent did with the call that started it", async () => {
    const thread = newThread();
    await write(redis, thread, "Count the files");
    const lease = await begin(redis, thread);
    const inner = { name: "bash", input: `ls ${secret}`, status: "ok" as const, text: secret, durationMs: 8 };
    const result = resultOf("c1", "task", "Two files.");
    await lease.append([
      calling(1, [call("c1", "task", { task: "count" })]),
      { ...result, inner: { calls: [inner], omitted: 3 } },
    ]);
    expect((await timeline(thread)).entries.at(-1)).toMatchObject({
      kind: "tool-result",
      inner: {
        omitted: 3,
        calls: [
          {
            ...{ name: "bash", status: "ok", tookMs: 8 },
            ...{ arguments: { text: "ls [masked]" }, text: { text: "[masked]" } },
          },
        ],
      },
    });
  });

  test("tells of a command that failed by which exit code, also of a sub-agent's", async () => {
    const thread = newThread();
    await write(redis, thread, "Try it");
    const lease = await begin(redis, thread);
    const failed = {
      name: "bash",
      input: "false",
      status: "ok" as const,
      text: "exit code 1\n",
      durationMs: 8,
    };
    await lease.append([
      calling(1, [call("c1", "bash", { command: "exit 3" })]),
      resultOf("c1", "bash", "exit code 3\n(no output)"),
      resultOf("c2", "bash", "exit code 0\n(no output)"),
      { ...resultOf("c3", "task", "It failed."), inner: { calls: [failed], omitted: 0 } },
    ]);
    const [three, none, task] = (await timeline(thread)).entries.slice(-3);
    expect(three).toMatchObject({ status: "ok", exit: "exit code 3" });
    expect(none).not.toHaveProperty("exit");
    expect(task).toMatchObject({ inner: { calls: [{ exit: "exit code 1" }] } });
  });

  test("is read from its end, page by page, however long it is", async () => {
    const thread = newThread();
    await write(redis, thread, "Go on for ever");
    const lease = await begin(redis, thread);
    const records = Array.from({ length: 3_000 }, (_, n) =>
      calling(n + 1, [{ type: "text", text: `step ${n}` }]),
    );
    await lease.append(records);
    const last = await timeline(thread);
    expect([last.entries.length, last.from, last.length]).toEqual([60, 2_942, 3_002]);
    const earlier = await timeline(thread, `?before=${last.from}`);
    expect([earlier.entries.length, earlier.from]).toEqual([60, 2_882]);
    expect(earlier.entries.at(-1)?.position).toBe(2_941);
    expect((await timeline(thread, "?before=3")).from).toBe(0);
    const wrong = await request(console.url, `/api/sessions/${thread}/timeline?before=x`);
    expect([wrong.status, wrong.body]).toEqual([400, expect.stringContaining("before")]);
  });

  test("goes on live: what is stored once, and what is only said", async () => {
    const thread = newThread();
    await write(redis, thread, "Live");
    const lease = await begin(redis, thread);
    using page = await openStream(console.url, `/api/sessions/${thread}/events?from=2`);
    // The second one comes when it has begun to listen.
    for (const _ of [1, 2]) await page.next("line");
    const retry = { type: "retry", step: 1, attempt: 2, delayMs: 1_500, reason: `Overloaded ${secret}.` };
    createLivePublisher(redis, thread, onError)(retry);
    expect(await page.next("passing")).toEqual({
      kind: "retry",
      text: "Overloaded [masked]. Trying again in 1.5 s (attempt 2).",
    });
    const start = { type: "tool-start", step: 2, call: { id: "i1", name: "bash", input: {} } };
    const helper = { type: "helper", callId: "c1", event: start };
    createLivePublisher(redis, thread, onError)(helper);
    expect(await page.next("passing")).toEqual({
      kind: "step",
      text: "A helper is at its step 2: running bash.",
    });
    await lease.append([calling(1, [{ type: "text", text: "Now." }])]);
    createLivePublisher(redis, thread, onError)({ type: "assistant" });
    expect(await page.next("entries")).toMatchObject({ entries: [{ position: 2, kind: "model" }] });
  });

  test("has what people were asked and what they decided, and the list says that somebody is waited for", async () => {
    const thread = newThread();
    await write(redis, thread, "Delete the branch");
    const lease = await begin(redis, thread);
    const question = {
      ...{ kind: "approval" as const, why: "It cannot be undone.", id: "q1", callId: "c1", tool: "bash" },
      ...{ requester: { id: "U1", name: "Ada" }, askedAt: Date.now(), expiresAt: Date.now() + 60_000 },
    };
    const message = { kind: "question" as const, markdown: "May I?" };
    await lease.append([{ type: "question", question, at: Date.now() }], askQuestion(question, message));
    const line = async () => (await timeline(thread)) as TimelinePage & { line: { state: string } };
    expect((await line()).line.state).toBe("asking");
    const decision = {
      kind: "denied" as const,
      by: { id: "U1", name: "Ada" },
      reason: "Keep it.",
      at: Date.now(),
    };
    await lease.append([{ type: "decision", question: "q1", decision, at: Date.now() }]);
    expect((await line()).entries.slice(-2)).toMatchObject([
      { kind: "question", tool: "bash", text: { text: "It cannot be undone." } },
      { kind: "decision", question: "q1", decision: "denied", by: "Ada", text: { text: "Keep it." } },
    ]);
  });

  test("is not there for a thread that never was", async () => {
    for (const thread of ["slack:T1:C1:none", "nonsense", "a:b:c:d:e", "%E0%A4%A", "slack:T1:C1:"]) {
      expect((await request(console.url, `/api/sessions/${thread}/timeline`)).status).toBe(404);
    }
  });
});

describe("threads of other platforms", () => {
  test("are stopped through the one intake", async () => {
    const thread = newThread();
    await write(redis, thread, "Sleep");
    const before = console.intake.events.length;
    expect((await post(thread, "stop")).json()).toMatchObject({ kind: "stopping" });
    expect(console.intake.events.slice(before)).toMatchObject([
      { kind: "stop", author: { id: "console" }, target: { thread: { platform: "slack", channel: "C1" } } },
    ]);
  });

  test("show what no turn has taken, and take changes of it as an operator's", async () => {
    const thread = newThread("discord");
    await write(redis, thread, `Use ${secret}`);
    await write(redis, thread, "And then?");
    const path = `/api/sessions/${encodeURIComponent(thread)}/queue`;
    const lines = await get(path);
    expect(lines).toMatchObject([
      { name: "m1", author: "Ada", text: { omitted: 0 } },
      { name: "m2", author: "Ada", text: { text: "And then?", omitted: 0 } },
    ]);
    expect(JSON.stringify(lines)).not.toContain(secret);
    const changes = (json: object) => request(console.url, path, { method: "POST", json });
    expect((await changes({ change: "first", message: "1/2" })).status).toBe(200);
    expect((await changes({ change: "move", message: "1/2", place: 3 })).status).toBe(200);
    expect((await changes({ change: "last", message: "1/2" })).status).toBe(400);
    expect((await changes({ change: "move", message: "1/2" })).status).toBe(400);
    const [, , , within] = thread.split(":");
    expect(console.intake.events.slice(-2)).toMatchObject([
      {
        ...{ kind: "action", author: { id: "console", standing: "operator" }, tellsRefusal: true },
        ...{ action: `queue-first:${within}:1/2`, thread: { platform: "discord", thread: within } },
      },
      { action: `queue-move-3:${within}:1/2` },
    ]);
    await begin(redis, thread);
  });

  test("have their open questions in one list, where an operator decides about calls and nothing else", async () => {
    const requester = { id: "U1", name: "Ada" };
    const askIn = async (platform: string, asking: Asking, openMs: number) => {
      const thread = newThread(platform);
      await write(redis, thread, "Push it");
      const lease = await begin(redis, thread);
      await lease.append([
        calling(1, [call("c1", "bash", { command: `git push\u202E ${secret}`, host: "x" })]),
      ]);
      const askedAt = Date.now();
      const id = `${platform}q`;
      const question: Question = {
        ...asking,
        ...{ id, callId: "c1", tool: "bash", requester, askedAt, expiresAt: askedAt + openMs },
      };
      const message = { kind: "question" as const, markdown: "May I?" };
      await lease.append([{ type: "question", question, at: askedAt }], askQuestion(question, message));
      return { thread, id, askedAt };
    };
    const rules = [{ id: "r1", text: "git push*" }];
    const approval = await askIn("slack", { kind: "approval", why: "It leaves.", rules }, 60_000);
    const each = await askIn("local", { kind: "approval", why: "Each time." }, 60_000);
    const choice = await askIn("discord", { kind: "choice", text: "Which?", choices: ["a", "b"] }, 90_000);
    await askIn("memory", { kind: "approval", why: "It is too late." }, 0);
    const mine = async () =>
      ((await get("/api/questions")) as QuestionLine[]).filter(({ thread }) =>
        [approval.thread, choice.thread].includes(thread),
      );
    expect(await mine()).toEqual([
      {
        ...{ id: "slackq", thread: approval.thread, platform: "slack", kind: "approval", tool: "bash" },
        ...{
          text: "It leaves.",
          choices: [],
          forThread: ["git push*"],
          requester: "Ada",
          requesterId: "U1",
          isOwners: false,
          decides: "Ada",
        },
        call: expect.stringMatching(/^with \{"host":"x"\}\ngit push\\u202e (?!sk-)/),
        note: "⚠️ 1 invisible character is shown as an escape.",
        ...{ since: approval.askedAt, until: approval.askedAt + 60_000 },
      },
      expect.objectContaining({ id: "discordq", kind: "choice", text: "Which?", call: "", decides: "Ada" }),
    ]);
    expect(await get("/api/questions")).not.toContainEqual(expect.objectContaining({ id: "memoryq" }));

    const decides = ({ thread, id }: typeof approval, json: object) =>
      request(console.url, `/api/sessions/${encodeURIComponent(thread)}/questions/${id}`, {
        method: "POST",
        json,
      });
    expect((await decides(choice, { decision: "approve" })).status).toBe(409);
    expect((await decides(choice, { decision: "answer", choice: 0 })).status).toBe(409);
    expect((await decides(approval, { decision: "answer", choice: 0 })).status).toBe(409);
    expect((await decides({ ...approval, id: "none" }, { decision: "approve" })).status).toBe(404);
    expect((await decides(approval, { decision: "perhaps" })).status).toBe(400);
    expect((await decides(each, { decision: "approve", forThread: true })).status).toBe(409);
    const before = console.intake.events.length;
    expect((await decides(approval, { decision: "approve", forThread: true })).status).toBe(200);
    expect(console.intake.events.splice(before)).toMatchObject([{ action: "approve-thread:slackq" }]);
    expect((await decides(approval, { decision: "deny", reason: "Not today." })).status).toBe(200);
    expect(console.intake.events.slice(before)).toMatchObject([
      {
        ...{ kind: "action", action: "deny:slackq", text: "Not today." },
        author: { standing: "operator" },
        thread: { platform: "slack", channel: "C1" },
      },
    ]);
    // As at the button of the question's message; also as programs write it that keep to ASCII.
    const most = await request(
      console.url,
      `/api/sessions/${encodeURIComponent(approval.thread)}/questions/slackq`,
      {
        ...{ method: "POST", headers: { "content-type": "application/json" } },
        body: `{"decision":"deny","reason":"${"\\u4e16".repeat(4_000)}"}`,
      },
    );
    expect(most.status).toBe(200);
    expect(console.intake.events.at(-1)).toMatchObject({ text: "世".repeat(4_000) });
    expect((await decides(approval, { decision: "deny", reason: "x".repeat(4_001) })).status).toBe(400);
    const decided = { kind: "approved" as const, by: requester, at: Date.now() };
    await decide(redis, approval.thread, approval.id, decided, Date.now());
    expect((await mine()).map(({ id }) => id)).toEqual(["discordq"]);
  });

  test("wait in one list for a person, with what is bound to another one, until it is decided", async () => {
    const line = await askChoice(redis, newThread("local"), "console", ["red", "blue"]);
    const other = await askChoice(redis, newThread(), "U1", []);
    const paused = newThread();
    await write(redis, paused, "A lot of work");
    const limited = { kind: "step-limit", limit: "50 steps", text: "", steps: 50, usage: noUsage } as const;
    await end(await begin(redis, paused), limited, "t8");
    const ours = [line.thread, other.thread, paused];
    const mine = async () =>
      ((await get("/api/needs")) as Need[]).filter((need) => ours.includes(need.line.thread));
    expect(await mine()).toMatchObject([
      { id: line.id, question: { choices: ["red", "blue"] }, line: { state: "asking" } },
      { id: other.id, boundTo: "Person U1" },
      { id: paused, line: { ended: "paused", limit: "50 steps", title: "A lot of work" } },
    ]);
    expect((await mine())[0]).not.toHaveProperty("boundTo");

    using page = await openStream(console.url, "/api/events");
    const told = async () => JSON.stringify(await page.next("needs"));
    expect(await told()).toContain(line.id);
    const answers = (json: object) =>
      request(console.url, `/api/sessions/${encodeURIComponent(line.thread)}/questions/${line.id}`, {
        ...{ method: "POST", json: { decision: "answer", ...json } },
      });
    const before = console.intake.events.length;
    expect((await answers({ choice: 1 })).status).toBe(200);
    expect((await answers({ text: "green" })).status).toBe(200);
    expect(console.intake.events.slice(before)).toMatchObject([
      { kind: "action", action: `answer:${line.id}:1` },
      { kind: "action", action: `answer:${line.id}`, text: "green" },
    ]);
    const by = { id: "console", name: "Ada" };
    await decide(redis, line.thread, line.id, { kind: "answered", by, at: Date.now() }, Date.now());
    announceSession(redis, line.thread, onError);
    while ((await told()).includes(line.id));
    expect((await mine()).map(({ id }) => id)).toEqual([other.id, paused]);
  });

  test("are gone on with where a limit has ended the work, each time anew", async () => {
    const thread = newThread();
    const message = await write(redis, thread, "A lot");
    const lease = await begin(redis, thread);
    expect((await post(thread, "continue")).status).toBe(409);
    const limited = {
      kind: "step-limit",
      limit: "50 steps",
      text: "So far.",
      steps: 50,
      usage: noUsage,
    } as const;
    await end(lease, limited, "t7");
    const before = console.intake.events.length;
    expect((await post(thread, "continue")).json()).toMatchObject({ kind: "acted" });
    expect(console.intake.events.slice(before)).toMatchObject([
      { kind: "action", action: continueActionId("t7"), ref: { channel: "C1", message: `${message}~t7` } },
    ]);
  });

  test("have a workspace to be looked into, which looking does not make", async () => {
    const thread = newThread();
    const path = `/api/threads/${encodeURIComponent(thread)}`;
    console.workspace.set("deploy.log", "380");
    expect((await request(console.url, `${path}/files`)).status).toBe(404);
    await write(redis, thread, "Look into it");
    expect(await get(`${path}/files`)).toMatchObject({ entries: [{ path: "deploy.log", bytes: 3 }] });
    expect((await request(console.url, `${path}/file?path=deploy.log`)).body).toBe("380");
    expect((await request(console.url, `${path}/file?path=none`)).status).toBe(404);
  });

  test("are changed by nothing else", async () => {
    const thread = newThread();
    await write(redis, thread, "Mine");
    for (const path of [`/api/threads/${thread}/messages`, `/api/sessions/${thread}/messages`]) {
      const json = { text: "hello", key: "first-key" };
      expect((await request(console.url, path, { method: "POST", json })).status).toBe(404);
    }
    const more = await request(console.url, `/api/sessions/${thread}/stop`, {
      method: "POST",
      json: { all: 1 },
    });
    expect(more.status).toBe(400);
  });
});

test("the report of usage adds up days, channels, people and models, and says what is left today", async () => {
  const budgetsUnderTest = createBudgets({
    ...{ redis, now: Date.now, warn: () => {}, onError },
    settings: { ...settingsSchema.parse({}).budgets, ...budgets },
  });
  const turn = (id: string) => ({
    ...{ id: "t", startedAt: 0, since: 0, steps: 0, usage: noUsage, calls: [], waitedMs: 0 },
    asked: [{ role: "user" as const, id: "m", author: { id, name: id }, text: "", at: 0 }],
  });
  for (const [user, cost] of [
    ["U1", 1.5],
    ["U2", 0.5],
  ] as const) {
    const reserved = await budgetsUnderTest
      .turnBudget("slack:T1:C1:1", turn(user))
      .reserve({ cost, tokens: 10_000 });
    if (reserved.ok) await reserved.settle(usageOf(cost), "anthropic/claude");
  }
  const running = await budgetsUnderTest
    .turnBudget("slack:T1:C1:1", turn("U1"))
    .reserve({ cost: 1, tokens: 10 });
  const yesterday = createBudgets({
    ...{ redis, now: () => Date.now() - 86_400_000, warn: () => {}, onError },
    settings: settingsSchema.parse({ budgets: { timeZone } }).budgets,
  });
  const free = await yesterday.turnBudget("slack:T1:C2:1", turn("U1")).reserve({ cost: 0, tokens: 1 });
  const unpriced = { ...noUsage, input: 500, calls: 1, priceUnknown: true as const };
  if (free.ok) await free.settle(unpriced, "openai/new");
  await createNameCache(redis, () => ({ ...console.surface, channelName: async () => "ops" })).recordNames(
    "slack:T1:C1:1",
    {
      ...{ id: "U1", name: `Ada ${secret}`, standing: "member" as const, roles: [] },
    },
  );
  const today = formatDay(timeZone, Date.now());
  await redis.hincrby(keys.usage(today), "all liked", 3);
  await redis.hincrby(keys.usage(today), "model:anthropic/claude disliked", 1);

  const report = await get("/api/usage?days=3");
  expect(report).toMatchObject({
    timeZone,
    days: [
      { cost: 2, turns: 2, input: 2_400, liked: 3 },
      { cost: 0, turns: 1, priceUnknown: true },
      { cost: 0 },
    ],
    channels: [
      { id: "slack:T1:C1", name: "ops", cost: 2, daily: { cost: [2, 0, 0], turns: [2, 0, 0] } },
      { id: "slack:T1:C2", cost: 0, priceUnknown: true, daily: { tokens: [0, 500, 0] } },
    ],
    users: [
      { id: "slack:T1:U1", name: "Ada [masked]", cost: 1.5, daily: { cost: [1.5, 0, 0], turns: [1, 1, 0] } },
      { id: "slack:T1:U2" },
    ],
    models: [
      { id: "anthropic/claude", calls: 2, disliked: 1 },
      { id: "openai/new", priceUnknown: true },
    ],
    budgets: expect.arrayContaining([
      { dimension: "all", id: "", measure: "cost", limit: 10, used: 2, held: 1 },
      { dimension: "user", id: "slack:T1:U2", measure: "tokens", limit: 50_000, used: 6_900, held: 0 },
    ]),
  });
  if (running.ok) await running.settle(noUsage, "anthropic/claude");
  expect((await request(console.url, "/api/usage?days=9999")).status).toBe(400);
});

test("the report of the system has Redis, the queue, skills, limits, and workers until they fall silent", async () => {
  const worker = () => ({
    ...{ host: "loom-1", pid: 7, startedAt: 1, concurrency: 50, model: "demo", running: [] },
    sandbox: { ok: false, summary: "none", problems: [{ what: "bwrap is missing.", fix: "Install it." }] },
    mcp: [{ server: "shop", state: "ready", tools: ["buy"] }],
  });
  const presence = await startPresence({ redis, describe: worker, onError });
  expect(await get("/api/system")).toMatchObject({
    redis: { kind: console.redis.server.kind },
    queue: { waiting: 0, active: 0, delayed: 0, failed: 0 },
    workers: [{ host: "loom-1", sandbox: { problems: [{ fix: "Install it." }] }, mcp: [{ tools: ["buy"] }] }],
    storage: { sessions: expect.any(Number), journals: expect.any(Array), mailboxes: expect.any(Array) },
    skills: expect.arrayContaining([expect.objectContaining({ name: "csv-report" })]),
    limits: expect.arrayContaining([{ name: "Time of a command", value: "120 s" }]),
  });
  await presence.close();
  await redis.sadd("heddle:workers", "died-without-a-word");
  expect(await get("/api/system")).toMatchObject({ workers: [] });
  expect(await redis.scard("heddle:workers")).toBe(0);
});

test("the audit log is told from its newest entry, masked", async () => {
  const log = openAuditLog(redis, Date.now, (problem) => expect.unreachable(problem));
  const by = { id: "U1", name: `Ada ${secret}` };
  for (const n of Array(130).keys()) {
    await log.append({ what: "asked", thread: "slack:T1:C1:1", message: String(n), by });
  }
  await log.append({
    ...{ what: "tool-ended", thread: "slack:T1:C1:1", turn: "t", call: "c" },
    ...{ tool: "bash", status: "ok", ms: 12 },
  });
  const page = (await get("/api/audit")) as AuditPage;
  expect(page.lines).toHaveLength(100);
  const [newest, next] = page.lines;
  const text = "tool: bash · status: ok · ms: 12";
  const ids = [
    { name: "turn", value: "t" },
    { name: "call", value: "c" },
  ];
  expect(newest).toMatchObject({ n: 131, what: "tool-ended", by: "", rest: { text }, ids });
  expect(next).toMatchObject({ n: 130, what: "asked", by: "Ada [masked]", thread: "slack:T1:C1:1" });
  expect(page.before).toBe(32);
  const last = (await get("/api/audit?before=3")) as AuditPage;
  expect([last.lines.map(({ n }) => n), last.before]).toEqual([[2, 1], undefined]);
});

test("the audit log is filtered by thread, person, kind and time, and tells what its threads are called", async () => {
  const log = openAuditLog(redis, Date.now, (problem) => expect.unreachable(problem));
  const thread = newThread();
  await write(redis, thread, "Water the plants");
  const start = Date.now();
  await log.append({ what: "asked", thread, message: "1", by: { id: "U7", name: "Grace Hopper" } });
  await log.append({ what: "stopped", thread, by: { id: "U8", name: "Lin" } });
  await log.append({ what: "asked", thread: newThread(), message: "2", by: { id: "U8", name: "Lin" } });
  const found = async (query: string) => {
    const { lines } = (await get(`/api/audit?${query}`)) as AuditPage;
    return lines.map(({ what, by }) => `${what} ${by}`);
  };
  const here = `thread=${encodeURIComponent(thread)}`;
  expect(await found(here)).toEqual(["stopped Lin", "asked Grace Hopper"]);
  expect(await found(`${here}&what=asked`)).toEqual(["asked Grace Hopper"]);
  expect(await found("person=hopper")).toEqual(["asked Grace Hopper"]);
  expect(await found(`person=lin&since=${start}`)).toHaveLength(2);
  expect(await found(`${here}&until=${start}`)).toEqual([]);
  expect((await get(`/api/audit?${here}`)) as AuditPage).toMatchObject({
    lines: [{ title: "Water the plants" }, {}],
  });
  expect((await request(console.url, "/api/audit?colour=red")).status).toBe(400);
});

test("the audit log is filtered by time also where entries were written late", async () => {
  const midnight = Date.now() + 86_400_000;
  let now = midnight;
  const log = openAuditLog(
    redis,
    () => now,
    (problem) => expect.unreachable(problem),
  );
  // While Redis was away each process has kept what happened, and one after the other writes it down.
  for (const at of [-60_000, 60_000, -50_000, 70_000]) {
    now = midnight + at;
    await log.append({ what: "signed-in", by: { id: "U3", name: "Iris" } });
  }
  const { lines } = (await get(`/api/audit?person=iris&since=${midnight}`)) as AuditPage;
  expect(lines.map(({ at }) => at - midnight)).toEqual([70_000, 60_000]);
});

test("the audit log is filtered by channel, state, model and cost, as they stand in its entries", async () => {
  const log = openAuditLog(redis, Date.now, (problem) => expect.unreachable(problem));
  const [here, there] = ["slack:T1:C7FILTER:1.1", "slack:T1:C7FILTER:1.2"];
  const by = { id: "U1", name: "Ada" };
  const ended = { what: "turn-ended", turn: "t", steps: 1 } as const;
  const callEnd = { what: "tool-ended", turn: "t", call: "c", tool: "bash", ms: 1 } as const;
  await log.append({ what: "asked", thread: here, message: "1", by });
  await log.append({ ...callEnd, thread: here, status: "error", exitCode: 3 });
  await log.append({ ...callEnd, thread: here, status: "denied" });
  const decided = { what: "decided", thread: there, question: "q", tool: "bash", by } as const;
  await log.append({ ...decided, decision: "denied" });
  await log.append({ ...ended, thread: here, outcome: "answered", models: ["a/small"], cost: 0.02 });
  const models = ["a/small", "b/large"];
  await log.append({ ...ended, thread: there, outcome: "step-limit", models, cost: 1.5 });
  // As an older Heddle wrote it; and what happened elsewhere, or nowhere.
  await log.append({ ...ended, thread: there, outcome: "answered" });
  await log.append({ ...ended, thread: newThread(), outcome: "answered", models, cost: 9 });
  await log.append({ what: "signed-in", by });

  const found = async (query: string) => {
    const { lines } = (await get(`/api/v1/audit?${query}`)) as AuditPage;
    return lines.map(({ what, rest }) => `${what} ${rest.text}`);
  };
  const channel = "channel=slack:T1:C7FILTER";
  expect(await found(channel)).toHaveLength(7);
  expect(await found(`${channel}&state=denied`)).toEqual([
    "decided question: q · tool: bash · decision: denied",
    "tool-ended tool: bash · ms: 1 · status: denied",
  ]);
  expect(await found(`${channel}&state=error`)).toEqual([
    "tool-ended tool: bash · ms: 1 · status: error · exitCode: 3",
  ]);
  const large = "turn-ended steps: 1 · outcome: step-limit · models: a/small, b/large · cost: 1.5";
  expect(await found(`${channel}&model=b/large`)).toEqual([large]);
  expect(await found(`${channel}&minCost=1`)).toEqual([large]);
  expect(await found(`${channel}&minCost=0`)).toHaveLength(7);
  expect(await found(`${channel}&model=a/small&state=answered&minCost=0.01`)).toHaveLength(1);
  expect(await found("channel=slack:T1:C7FILT")).toEqual([]);
  expect((await request(console.url, "/api/v1/audit?minCost=much")).status).toBe(400);
});

test("the audit log names the people that a turn works for, and the console without its inner address", async () => {
  const log = openAuditLog(redis, Date.now, (problem) => expect.unreachable(problem));
  const [ada, lin] = [
    { id: "U1", name: "Ada" },
    { id: "U2", name: "Lin" },
  ];
  const messages = [
    { message: "1.1", by: ada },
    { message: "1.2", by: lin, scheduled: true as const },
    { message: "1.3", by: ada },
  ];
  await log.append({ what: "turn-began", thread: "local:console:main:abcdefgh", turn: "t", asked: messages });
  const [began] = ((await get("/api/audit")) as AuditPage).lines;
  expect(began).toMatchObject({ by: "Ada, Lin", place: "console", rest: { text: "" } });
  // They tell nobody anything who reads the log, and are there for who looks for one.
  expect(began?.ids).toEqual([
    { name: "message", value: "1.1" },
    { name: "scheduled", value: "1.2" },
    { name: "message", value: "1.3" },
    { name: "turn", value: "t" },
  ]);
});
