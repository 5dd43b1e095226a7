/** The calls of a turn, as the console reads them from a thread's journal. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { call as request } from "./requests.ts";
import { begin, call, calling, end, resultOf, usageOf, write } from "./sessions.ts";
import { secret, startConsole, type TestConsole } from "./start-console.ts";

let console: TestConsole;
let redis: ReturnType<TestConsole["redis"]["client"]>;

beforeAll(async () => {
  console = await startConsole();
  redis = console.redis.client();
});
afterAll(() => console[Symbol.asyncDispose]());

const get = (thread: string, path: string) =>
  request(console.url, `/api/sessions/${encodeURIComponent(thread)}/calls${path}`);
const started = (callId: string) => ({ type: "tool-start" as const, callId, at: 1_000 });

/** Two turns; ids of calls repeat, as with some models. */
async function runTwoTurns(thread: string): Promise<void> {
  await write(redis, thread, "Build it");
  const first = await begin(redis, thread, "t1");
  await first.append([
    calling(1, [
      call("c", "bash", { command: `make KEY=${secret}` }),
      call("p", "todo", { items: [] }),
      call("d", "read_file", { path: "x" }),
    ]),
    started("c"),
    resultOf("c", "bash", `exit code 2\n${secret}${"\nline".repeat(5_000)}`),
    resultOf("p", "todo", "ok"),
    started("d"),
    resultOf("d", "read_file", "text"),
    calling(2, [call("c", "bash", { command: "make again" })]),
    started("c"),
    resultOf("c", "bash", "exit code 0\ndone"),
  ]);
  await end(first, { kind: "answered", text: "Done.", steps: 2, usage: usageOf(0.1) }, "t1");
  await write(redis, thread, "And now?");
  const second = await begin(redis, thread, "t2");
  await second.append([calling(1, [call("c", "bash", { command: "sleep 9" })]), started("c")]);
}

test("The calls of a turn are listed in their order, each as it ended, without changes of the plan", async () => {
  const thread = "slack:T1:C1:1.1";
  await runTwoTurns(thread);
  const answer = await get(thread, "?turn=t1");
  const text = answer.body;
  expect(JSON.parse(text)).toMatchObject({
    omitted: 0,
    calls: [
      { id: "c", name: "bash", status: "ok", exit: "exit code 2", tookMs: 420, startedAt: 1_000 },
      { id: "d", name: "read_file", status: "ok" },
      { id: "c", name: "bash", status: "ok", arguments: { text: '{\n  "command": "make again"\n}' } },
    ],
  });
  expect(text).not.toContain(secret);
});

test("A call that people denied, or that nobody decided about, is that in list, details and timeline", async () => {
  const thread = "slack:T1:C1:4.1";
  await write(redis, thread, "Push it");
  const lease = await begin(redis, thread, "t1");
  const names = ["a", "b", "c"] as const;
  const text = "DENIED by Ada; it was not run. No reason was given.";
  const notRuns = { a: "denied", b: "undecided", c: undefined } as const;
  await lease.append([
    calling(
      1,
      names.map((id) => call(id, "bash", { command: "git push" })),
    ),
    ...names.map((id) => {
      const record = resultOf(id, "bash", text, "error");
      const notRun = notRuns[id];
      return { ...record, message: { ...record.message, ...(notRun && { notRun }) } };
    }),
  ]);
  const list: unknown = (await get(thread, "?turn=t1")).json();
  const ended = [{ status: "denied" }, { status: "undecided" }, { status: "error" }];
  expect(list).toMatchObject({ calls: ended });
  const [{ key }] = (list as { calls: [{ key: string }] }).calls;
  expect((await get(thread, `/${key}`)).json()).toMatchObject({ status: "denied" });
  const address = `/api/sessions/${encodeURIComponent(thread)}/timeline`;
  const { entries } = (await request(console.url, address)).json() as { entries: { kind: string }[] };
  expect(entries.filter(({ kind }) => kind === "tool-result")).toMatchObject(ended);
});

test("A call is found by its key, with all of its result, and is open until it has one", async () => {
  const thread = "slack:T1:C1:1.2";
  await runTwoTurns(thread);
  const list = async (turn: string) =>
    // The shape is what the test before is about.
    (await (await get(thread, `?turn=${turn}`)).json()) as { calls: { key: string }[] };
  const [failed, , again] = (await list("t1")).calls;
  const found = (await get(thread, `/${failed?.key}`)).body;
  expect(JSON.parse(found)).toMatchObject({ exit: "exit code 2", result: { omitted: 0 } });
  expect(found.length).toBeGreaterThan(25_000);
  expect(found).not.toContain(secret);
  expect((await get(thread, `/${again?.key}`)).json()).toMatchObject({
    result: { text: "exit code 0\ndone" },
  });
  const [open] = (await list("t2")).calls;
  const running = (await get(thread, `/${open?.key}`)).json();
  expect(running).toMatchObject({ name: "bash", startedAt: 1_000 });
  expect(running).not.toHaveProperty("status");
});

test.each(["/9999.0", "/0.7", "/x", "/1.1e3"])("There is no call %s", async (key) => {
  const thread = "slack:T1:C1:1.3";
  await runTwoTurns(thread);
  expect((await get(thread, key)).status).toBe(404);
});

test("An unknown turn has no calls, and none is named without a turn", async () => {
  const thread = "slack:T1:C1:1.4";
  await runTwoTurns(thread);
  expect((await get(thread, "?turn=t9")).json()).toEqual({ calls: [], omitted: 0 });
  expect((await get(thread, "")).status).toBe(400);
});
