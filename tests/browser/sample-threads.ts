/** A day in a team's life, for whoever looks at the pages of operators. */
import { noUsage } from "../../src/agent/model.ts";
import { settingsSchema } from "../../src/config/schema.ts";
import type { SettingsReport } from "../../src/operations/reports.ts";
import { createBudgets } from "../../src/queue/budgets/budgets.ts";
import { onError } from "./console-page.ts";
import { openAuditLog } from "../../src/telemetry/audit/log.ts";
import { begin, call, calling, end, resultOf, usageOf, write } from "../adapters/console/sessions.ts";
import type { TestConsole } from "../adapters/console/start-console.ts";

export const triggerBudgets = { alerts: { cost: 10 }, "watch:slack:T1:C9OPS": { cost: 1 } };
export const budgets = { day: { cost: 20 }, user: { cost: 5 }, channel: { tokens: 2_000_000 } };
/** As a file of some length and its administrators have it. */
export const configuration: SettingsReport = {
  file: "/etc/heddle/heddle.yaml",
  ...{ hash: "4be1f09a77c2", at: Date.parse("2026-11-20T08:12:00Z") },
  problem: "agent.maxStep: unknown key; known here: maxSteps, maxMinutes. Did you mean maxSteps?",
  restart: ["sandbox"],
  ignored: [{ setting: "model", of: "slack:T1:C9OPS", why: "The file does not name none/such." }],
  settings: [
    { name: "model", value: "anthropic/claude-opus-4-6", from: "environment" },
    { name: "agent.maxSteps", value: "80", from: "file" },
    { name: "agent.maxMinutes", value: "60", from: "default" },
    { name: "fallbackModels", value: "", from: "default" },
    { name: "access.slack.users", value: "T1:U9", from: "chat" },
    {
      name: "tools.rules",
      value:
        "- tool: bash\n  command: git push*\n  action: ask\n- tool: bash\n  command: npm publish*\n  action: deny",
      from: "file",
    },
    { name: "providers.house.headers.X-Team", value: "(not shown)", from: "file" },
  ],
  channels: [
    {
      ...{ id: "slack:T1:C9OPS", name: "ops" },
      settings: [
        { name: "model", value: "anthropic/claude-opus-4-6", from: "everywhere" },
        { name: "verbosity", value: "quiet", from: "chat" },
        { name: "tools", value: "bash, read_file, github__*", from: "file" },
        { name: "instructions", value: "", from: "everywhere" },
      ],
    },
  ],
};
const steps = (kind: "answered" | "model-error" | "step-limit", cost: number) => {
  const usage = usageOf(cost, { calls: 3, input: 4_200, cacheRead: 61_000, output: 1_900 });
  return { ...{ kind, text: "The work is not complete.", limit: "50 steps", steps: 3, usage } };
};

/** Threads in every state, two weeks of use, and names. */
export async function runSampleThread(console: TestConsole): Promise<{ running: string }> {
  const redis = console.redis.client();
  const thread = async (id: string, text: string, cost: number, kind: Parameters<typeof steps>[0]) => {
    await write(redis, id, text, id.endsWith("1") ? "Grace" : `${"G".repeat(70)}race`);
    const lease = await begin(redis, id, "t1");
    await lease.append([calling(1, [{ type: "text", text: "Done as asked." }], usageOf(cost))]);
    await end(lease, steps(kind, cost));
  };
  await thread("slack:T1:C7GENERAL:171.1", "Which invoices of May are unpaid?", 0.42, "answered");
  await thread("discord:88:4411:9021", "Translate the handbook into Danish", 3.18, "step-limit");
  await thread("local:console:main:abcdefgh12345678", "Compare the two quarterly reports", 0.03, "answered");
  await thread("slack:T1:C9OPS:172.8", "Why is the nightly backup red?", 0.27, "model-error");
  await thread("slack:T1:C8LONG:172.9", "unbroken".repeat(40), 0.01, "answered");
  const running = "slack:T1:C9OPS:173.4";
  await write(redis, running, "Find out why the deploy of Friday was slow, and write it down", "Ada");
  const lease = await begin(redis, running, "b31f");
  const long = Array.from({ length: 90 }, (_, n) =>
    calling(n + 1, [{ type: "text", text: `Looking at part ${n + 1}.` }]),
  );
  await lease.append([
    ...long,
    calling(91, [
      { type: "thinking", text: "The log of the runner should tell.", protocol: "demo", raw: null },
      { type: "text", text: "I compare the **durations** of the last three deploys." },
      call("c1", "bash", { command: "grep -h duration deploy-*.log | sort -n | tail -3" }),
      call("c2", "read_file", { path: "notes/friday.md" }),
      call("c4", "task", { task: "Read the logs of the runner" }),
    ]),
    { type: "tool-start", callId: "c1", at: Date.now() },
    { type: "tool-start", callId: "c2", at: Date.now() },
    resultOf("c1", "bash", "duration=41\nduration=44\nduration=380\n"),
    resultOf("c2", "read_file", "There is no file notes/friday.md.", "error"),
    {
      ...resultOf("c4", "task", "The runner waited for a cache."),
      inner: {
        omitted: 2,
        calls: [
          {
            name: "bash",
            input: '{"command":"tail runner.log"}',
            status: "ok",
            text: "waiting",
            durationMs: 31,
          },
          {
            name: "read_file",
            input: '{"path":"cache.log"}',
            status: "error",
            text: "no file",
            durationMs: 4,
          },
        ],
      },
    },
    { type: "trim", callIds: ["x", "y"], before: 91_000, after: 64_000, at: Date.now() },
    {
      ...{ type: "summary", keep: 4, usage: usageOf(0.012), before: 64_000, after: 9_500, at: Date.now() },
      message: { role: "summary", text: "People asked why the deploy was slow." },
    },
    calling(92, [call("c3", "bash", { command: "python3 chart.py --since friday" })]),
    { type: "tool-start", callId: "c3", at: Date.now() },
  ]);
  await write(redis, "slack:T1:C7GENERAL:174.2", "Draft the minutes of today's meeting", "Lin");
  await spend(redis);
  await redis.hset("heddle:names", {
    ...{ "slack:T1:C7GENERAL": "general", "slack:T1:C9OPS": "ops", "discord:88:4411": "handbook" },
    ...{ "slack:T1:U1ADA": "Ada Lovelace", "slack:T1:U2GRACE": "G".repeat(80) },
    "slack:T1:C8LONG": "a-channel-with-a-name-as-long-as-they-can-be-".repeat(2),
  });
  return { running };
}

/** Two weeks of use. */
async function spend(redis: ReturnType<TestConsole["redis"]["client"]>): Promise<void> {
  const people = ["U1ADA", "U2GRACE", "U3LIN"];
  for (const day of Array(14).keys()) {
    const now = () => Date.now() - day * 86_400_000;
    const settings = settingsSchema.parse({}).budgets;
    const past = createBudgets({ redis, settings, now, warn: () => {}, onError });
    for (const [number, person] of people.entries()) {
      const cost = ((day * 7 + number * 5) % 11) * 0.31 + 0.1;
      const message = {
        role: "user" as const,
        id: "m",
        author: { id: person, name: person },
        text: "",
        at: 0,
        ...(number > 0 && { trigger: Object.keys(triggerBudgets)[number - 1] ?? "" }),
      };
      const turn = {
        ...{ id: "t", startedAt: 0, since: 0, steps: 0, usage: noUsage, calls: [], waitedMs: 0 },
        asked: [message],
      };
      const channel = ["C7GENERAL", "C9OPS"][number % 2];
      const reserved = await past.turnBudget(`slack:T1:${channel}:1`, turn).reserve({ cost, tokens: 1 });
      const used = usageOf(cost, {
        input: Math.round(9_000 * cost),
        cacheRead: Math.round(60_000 * cost),
        output: 4_000,
      });
      if (reserved.ok) await reserved.settle(used, number === 2 ? "openai/gpt" : "anthropic/claude");
    }
  }
}

/** What a worker says of itself. */
export const worker = () => ({
  ...{
    host: "loom-1",
    pid: 4711,
    startedAt: Date.now() - 5_400_000,
    concurrency: 50,
    model: "anthropic/claude",
  },
  modelFailures: [
    {
      model: "openai/small",
      message:
        "The model service refused the request as invalid (HTTP 400); the administrator finds its reason in the log.",
      detail: "Unsupported value: 'reasoning_effort' does not support 'high' with this model.",
      ...{ at: Date.now() - 190_000, times: 3 },
    },
  ],
  running: [{ thread: "slack:T1:C9OPS:173.4", since: Date.now() - 61_000 }],
  sandbox: { ok: true, summary: "bubblewrap 0.11, limits by control groups", problems: [] },
  mcp: [
    { server: "github", state: "ready", tools: ["search_issues", "read_issue"] },
    { server: "crm", state: "failed", tools: [], problem: "It did not answer within 10 s: look at its log." },
  ],
});

/** A console thread with a message of each kind, files, and an entry of the audit log. */
export async function fillWorkspace({ surface, workspace, redis }: TestConsole): Promise<void> {
  const log = openAuditLog(redis.client(), Date.now, (problem) => {
    throw new Error(problem);
  });
  const by = { id: "U1ADA", name: "Ada" };
  await log.append({ what: "asked", thread: "slack:T1:C9OPS:173.4", message: "173.4", by });
  workspace.set("deploys/friday.log", "duration=380\n");
  workspace.set("chart.png", "no picture");
  const thread = { platform: "local", workspace: "console", channel: "main", thread: "abcdefgh12345678" };
  const table = "| a | b |\n|--|--|\n| `1` | [2](https://example.com) |";
  const markdown = `## Both are right\n\n${table}\n\n> quoted\n\n\`\`\`py\nprint(2)\n\`\`\``;
  await surface.post(thread, { kind: "answer", markdown, footer: "3 steps · $0.03" }, "answer");
  const items = [
    { id: "0", name: "bash", about: "ls", state: "ok" as const, result: "a.txt" },
    { id: "1", name: "bash", about: "make", state: "error" as const },
    { id: "2", name: "bash", about: "make again", state: "running" as const },
  ];
  const calls = { title: "Working", above: "Working · step 3", below: "I build it once more.", items };
  await surface.post(thread, { kind: "progress", markdown: "", calls, stoppable: true }, "progress");
  await surface.post(thread, { kind: "notice", markdown: "The budget is nearly used up." }, "notice");
  await surface.post(thread, { kind: "receipt", markdown: "Stopped. 0 processes are left." }, "receipt");
  await surface.upload(thread, { name: "plot.png", data: Buffer.from("png") }, "upload");
}
