import { z } from "zod";
import { accessSchema } from "./access.ts";
import { administrationSchema } from "./administration.ts";
import { budgetsSchema } from "./budgets.ts";
import { channelsSchema, modelChoices } from "./channels.ts";
import { consoleSchema } from "./console.ts";
import { modelsSchema } from "./models.ts";
import { discordSchema, slackSchema } from "./platforms.ts";
import { providersSchema } from "./providers.ts";
import { githubAppSchema, repositoriesSchema } from "./repositories.ts";
import { egressSchema, sandboxSchema, workspacesSchema } from "./sandbox.ts";
import { count, modelName } from "./values.ts";
import { hooksSchema, triggersSchema } from "./triggers.ts";
import { previewsSchema } from "./previews.ts";
import { undoSchema } from "./undo.ts";
import { webSchema } from "./web.ts";

/** Everything that `heddle.yaml` can say. The descriptions are the documentation: the reference is made from them. */

export const settingsSchema = z.strictObject({
  model: modelName
    .optional()
    .describe(
      "anthropic/<id>, openai/<id>, minimax/<id>, <name of a provider>/<id> or demo; HEDDLE_MODEL in the environment takes precedence",
    ),
  fallbackModels: z
    .array(modelName)
    .default([])
    .describe("tried in this order when the model is down, out of credit or gone"),
  summaryModel: modelName
    .optional()
    .describe("writes the summaries of long conversations; without it the model itself"),
  taskModel: modelName
    .optional()
    .describe("does what the agent hands to its helpers (the tool task); without it the thread's own model"),
  modelChoices: modelChoices.default([]),
  feedback: z
    .boolean()
    .default(false)
    .describe("👍 and 👎 under each answer; heddle usage counts them by day and by model"),
  checkModelsAtStart: z
    .boolean()
    .default(true)
    .describe(
      "whether a start asks the services of all configured models whether they take the key and answer",
    ),
  models: modelsSchema,
  providers: providersSchema,
  agent: z
    .strictObject({
      maxSteps: count(1, 1000).default(50).describe("model calls in one turn"),
      maxMinutes: z.number().positive().max(1440).default(60).describe("wall time of one turn"),
      maxTokens: count(1, 1_000_000_000)
        .optional()
        .describe("input and output tokens of one turn, caches included"),
      maxCost: z.number().positive().optional().describe("US dollars of one turn"),
      instructions: z.string().max(20_000).default("").describe("added to the system prompt"),
    })
    .prefault({}),
  compaction: z
    .strictObject({
      startAt: z
        .number()
        .min(0.6)
        .max(0.95)
        .default(0.8)
        .describe("share of the model's context window above which a conversation is compacted"),
      retainRounds: count(0, 1_000)
        .default(10)
        .describe(
          "rounds (a message and everything up to the next) that are kept verbatim, as far as they fit",
        ),
      retainSteps: count(1, 100).default(2).describe("latest steps that are always kept verbatim"),
    })
    .prefault({}),
  retry: z
    .strictObject({
      maxRetries: count(0, 20)
        .default(3)
        .describe("retries of a model call after the first attempt; 0 for none"),
      baseMs: count(1, 60_000)
        .default(1_000)
        .describe("the first back-off is a random time below this; the bound doubles each time"),
      capMs: count(1, 600_000).default(60_000).describe("longest back-off, unless the service asks for more"),
      deadlineMs: count(1_000, 7_200_000)
        .default(600_000)
        .describe("all attempts of one model call together"),
      idleMs: count(1_000, 3_600_000)
        .exactOptional()
        .describe(
          "a stream silent for this long counts as failed, as one of signs of life alone does after ten times as long; without it 90,000 with Anthropic's protocol and 300,000 with OpenAI's",
        ),
    })
    .prefault({}),
  access: accessSchema,
  administration: administrationSchema,
  channels: channelsSchema,
  attachments: z
    .strictObject({
      files: count(0, 1_000).default(20).describe("most files that are taken from one message"),
      fileMb: z.number().positive().max(1_024).default(50).describe("largest file"),
      messageMb: z
        .number()
        .positive()
        .max(10_240)
        .default(200)
        .describe("largest total size of a message's files"),
      seconds: count(1, 3_600).default(120).describe("time limit for fetching one file"),
    })
    .prefault({}),
  room: z
    .strictObject({
      messages: count(0, 500)
        .default(50)
        .describe(
          "earlier messages that are included when the first mention comes in the middle of a thread",
        ),
      characters: count(500, 200_000)
        .default(20_000)
        .describe("most characters of other people's words that go along with a message"),
    })
    .prefault({}),
  slack: slackSchema,
  discord: discordSchema,
  tools: z
    .strictObject({
      rules: z
        .array(
          z.strictObject({
            tool: z
              .string()
              .min(1)
              .default("*")
              .describe("the tool's name; * stands for any text, e.g. github__*"),
            effect: z
              .enum(["read", "write", "external"])
              .exactOptional()
              .describe(
                "only calls with this effect; external: reaches beyond the thread, as most MCP tools do",
              ),
            command: z
              .string()
              .min(1)
              .exactOptional()
              .describe(
                "only commands that match from beginning to end; * stands for any text, e.g. git push*",
              ),
            action: z.enum(["allow", "ask", "deny"]).describe("ask: a person must approve each call"),
            eachTime: z
              .boolean()
              .exactOptional()
              .describe("with ask: each call by itself; nobody can approve the rule for a whole thread"),
            why: z
              .string()
              .min(1)
              .max(300)
              .exactOptional()
              .describe("the reason, shown to people and to the model"),
          }),
        )
        .default([])
        .describe(
          "what the agent's tools may do; the first rule that matches a call decides (docs/rules.md)",
        ),
      default: z
        .enum(["allow", "ask", "deny"])
        .default("allow")
        .describe("action for calls that no rule matches"),
      questionMinutes: z
        .number()
        .positive()
        .max(43_200)
        .default(1_440)
        .describe("how long an approval or a question of the agent's stays open; then it counts as denied"),
    })
    .prefault({}),
  skills: z
    .strictObject({
      folders: z
        .array(z.string().min(1))
        .optional()
        .describe("folders of skills; without it those that ship with Heddle"),
      pins: z
        .record(
          z.string(),
          z.string().regex(/^sha256-[0-9a-f]{64}$/, "expected sha256- and 64 hexadecimal digits"),
        )
        .default({})
        .describe("by a skill's name: sha256-… of the content that it must have to be loaded"),
    })
    .prefault({}),
  mcp: z
    .strictObject({
      config: z
        .string()
        .min(1)
        .default("mcp.json")
        .describe("the file that lists MCP servers, relative to this one; it may be missing"),
      connectSeconds: z.number().positive().default(10).describe("time limit of a connection"),
      executeSeconds: z.number().positive().default(60).describe("time limit of a call"),
      readSeconds: z.number().positive().default(120).describe("longest silence of an SSE stream"),
    })
    .prefault({}),
  sandbox: sandboxSchema,
  egress: egressSchema,
  web: webSchema,
  undo: undoSchema,
  previews: previewsSchema,
  repositories: repositoriesSchema,
  githubApp: githubAppSchema,
  triggers: triggersSchema,
  hooks: hooksSchema,
  workspaces: workspacesSchema,
  queue: z
    .strictObject({
      concurrency: count(1, 500).default(50).describe("turns at once in one worker process"),
      perUser: count(1, 10_000).default(10).describe("turns at once for one person"),
      perChannel: count(1, 10_000).default(20).describe("turns at once in one channel"),
      total: count(1, 100_000).default(1_000).describe("turns at once in all workers together"),
      lockSeconds: count(2, 300)
        .default(15)
        .describe("a worker without a heartbeat for this long loses its turns to others"),
      catchUpSeconds: count(0, 60)
        .default(5)
        .describe(
          "after a restart an interrupted turn waits at most so long until a gateway has looked for a stop that nobody heard",
        ),
      fenceSeconds: count(3, 3600)
        .exactOptional()
        .describe(
          "a worker that cannot reach Redis for this long ends the commands of its turns; longer than lockSeconds. Default: 60, or twice lockSeconds",
        ),
      jobFenceSeconds: count(3, 86_400)
        .exactOptional()
        .describe(
          "the same for its background jobs; not shorter than fenceSeconds. Default: 600, or fenceSeconds",
        ),
      hangSeconds: count(1, 3600)
        .default(5)
        .describe("a worker that does not respond for this long is killed"),
      sweepSeconds: count(1, 3600)
        .default(60)
        .describe("how often to look for threads whose wake-up was lost"),
      waitForReplicas: count(0, 10)
        .default(0)
        .describe("replicas of Redis that must have a message before it is acknowledged"),
      replicaWaitMs: count(10, 4_000)
        .default(1_000)
        .describe("how long to wait for them before the message is left for the platform to send again"),
    })
    .refine(({ fenceSeconds, lockSeconds }) => (fenceSeconds ?? Infinity) > lockSeconds, {
      path: ["fenceSeconds"],
      error: "expected more than lockSeconds, or a short outage would end what runs, e.g. 60",
    })
    .refine(({ fenceSeconds = 0, jobFenceSeconds = Infinity }) => jobFenceSeconds >= fenceSeconds, {
      path: ["jobFenceSeconds"],
      error: "expected at least fenceSeconds, e.g. 600",
    })
    .prefault({}),
  schedules: z
    .strictObject({
      perThread: count(1, 1_000).default(20).describe("schedules that one thread may have"),
      shortestMinutes: z
        .number()
        .positive()
        .max(1_440)
        .default(5)
        .describe("shortest interval between two scheduled turns"),
    })
    .prefault({}),
  budgets: budgetsSchema.prefault({}),
  sessions: z
    .strictObject({
      expireDays: count(1, 3650)
        .default(90)
        .describe("days without activity after which a session is deleted"),
    })
    .prefault({}),
  console: consoleSchema,
  telemetry: z
    .strictObject({
      auditFolder: z
        .string()
        .min(1)
        .exactOptional()
        .describe(
          "where the audit log of past days is kept; without it audit in the data folder. All gateways share it",
        ),
      auditRequired: z
        .boolean()
        .default(false)
        .describe(
          "whether tools wait for the audit log: with true, a call that cannot be recorded does not run, and /readyz answers 503 while the log cannot be written",
        ),
      traceContent: z
        .boolean()
        .default(false)
        .describe("whether traces hold what people and the model wrote, and arguments and results of tools"),
    })
    .prefault({}),
  demo: z
    .strictObject({
      scripts: z.string().optional().describe("folder with scripts of the demo model"),
      stepDelayMs: count(0, 60_000).optional().describe("pause between streamed words"),
    })
    .prefault({}),
});

export type Settings = z.infer<typeof settingsSchema>;
