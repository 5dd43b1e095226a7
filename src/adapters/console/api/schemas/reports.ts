import { z } from "zod";
import { processReport } from "../../../../operations/installation/configurations.ts";
import type { AuditPage } from "../../../../operations/finding.ts";
import type { SettingsReport, SystemReport, UsageReport } from "../../../../operations/reports.ts";
import { excerpt, figureFields, problem, time } from "./answers.ts";

const count = z.number();
const text = z.string();
const opinions = { liked: count, disliked: count };

const share = z
  .strictObject({
    ...figureFields(),
    ...opinions,
    ...{ id: text, name: text.exactOptional(), turns: count },
    daily: z.strictObject({ cost: z.array(count), tokens: z.array(count), turns: z.array(count) }),
  })
  .meta({ id: "UsageShare" });

export const usageReport: z.ZodType<UsageReport> = z.strictObject({
  timeZone: text,
  days: z.array(z.strictObject({ day: text, turns: count, ...figureFields(), ...opinions })),
  ...{ channels: z.array(share), users: z.array(share), triggers: z.array(share), models: z.array(share) },
  budgets: z.array(
    z.strictObject({
      dimension: z.literal(["all", "channel", "user", "trigger"]),
      ...{ id: text, name: text.exactOptional(), measure: z.literal(["cost", "tokens"]) },
      ...{ limit: count, used: count, held: count },
    }),
  ),
});

export const auditPage: z.ZodType<AuditPage> = z.strictObject({
  lines: z.array(
    z.strictObject({
      ...{ n: count, at: time, what: text, by: text, thread: text, place: text },
      ...{ title: text.exactOptional(), rest: excerpt },
      ids: z.array(z.strictObject({ name: text, value: text })),
    }),
  ),
  before: count.exactOptional().describe("what to ask for next; absent at the beginning of the log"),
});

const stored = z.array(
  z.strictObject({ thread: text, title: text.exactOptional(), records: count, bytes: count.exactOptional() }),
);

const worker = z.strictObject({
  ...{ host: text, pid: count, startedAt: time, concurrency: count, model: text },
  modelFailures: z
    .array(z.strictObject({ model: text, message: text, detail: text, at: time, times: count }))
    .exactOptional()
    .describe("calls that failed lately; detail is what the service said, in its own words"),
  running: z.array(z.strictObject({ thread: text, since: time, title: text.exactOptional() })),
  sandbox: z.strictObject({ ok: z.boolean(), summary: text, problems: z.array(problem) }),
  mcp: z.array(
    z.strictObject({ server: text, state: text, tools: z.array(text), problem: text.exactOptional() }),
  ),
});

export const systemReport: z.ZodType<SystemReport> = z.strictObject({
  redis: z.strictObject({
    kind: z.literal(["url", "system", "embedded"]),
    ...{ describe: text, warnings: z.array(text) },
  }),
  queue: z.strictObject({ waiting: count, active: count, delayed: count, failed: count }),
  storage: z.strictObject({
    memory: z.strictObject({ used: count, limit: count.exactOptional() }).exactOptional(),
    ...{ sessions: count, journals: stored, mailboxes: stored },
  }),
  workers: z.array(worker),
  configuration: z.strictObject({
    processes: z.array(processReport),
    problems: z.array(z.string()),
    changes: z.array(
      z.strictObject({
        setting: z.string(),
        of: z.string(),
        value: z.string(),
        by: z.string(),
        at: z.number(),
      }),
    ),
  }),
  limits: z.array(z.strictObject({ name: text, value: text })),
  skills: z.array(z.strictObject({ name: text, description: text })),
  skillProblems: z.array(z.strictObject({ path: text, reason: text })),
});

const settingLines = z.array(
  z.strictObject({
    ...{ name: text, value: text },
    from: z.literal(["default", "file", "environment", "chat", "everywhere"]),
  }),
);

export const settingsReport: z.ZodType<SettingsReport> = z.strictObject({
  file: text.exactOptional(),
  ...{ hash: text, at: time, problem: text.exactOptional() },
  restart: z.array(text).describe("what has changed and waits for a restart"),
  ignored: z
    .array(z.strictObject({ setting: text, of: text, why: text }))
    .describe("what administrators have changed in chat and does not count"),
  settings: settingLines,
  channels: z.array(z.strictObject({ id: text, name: text.exactOptional(), settings: settingLines })),
});
