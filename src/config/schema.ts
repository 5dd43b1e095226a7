import { z } from "zod";
import { accessSchema } from "./access.ts";
import { budgetsSchema } from "./budgets.ts";
import { channelsSchema, modelChoices } from "./channels.ts";
import { channelId, count, hostName, hosts, modelName } from "./values.ts";

/**
 * The one schema of everything that can be configured. Secrets and endpoints come from the environment (or
 * `.env`), the rest from `heddle.yaml`. Descriptions are the documentation: the reference is generated from them.
 */

const url = z.url({ protocol: /^https?$/ });
const port = z.coerce.number().int().min(0).max(65_535);

export const environmentSchema = z.object({
  SLACK_BOT_TOKEN: z.string().optional().describe("Slack: bot token (OAuth & Permissions)"),
  SLACK_APP_TOKEN: z
    .string()
    .optional()
    .describe("Slack: app-level token with connections:write (Socket Mode)"),
  SLACK_SIGNING_SECRET: z
    .string()
    .optional()
    .describe("Slack: takes events as requests instead of Socket Mode (Basic Information)"),
  SLACK_CLIENT_ID: z
    .string()
    .optional()
    .describe("Slack: lets the workspaces of slack.workspaces install the app; instead of SLACK_BOT_TOKEN"),
  SLACK_CLIENT_SECRET: z.string().optional().describe("Slack: belongs to SLACK_CLIENT_ID"),
  SLACK_STATE_SECRET: z
    .string()
    .min(32, "expected at least 32 characters")
    .optional()
    .describe("Slack: a random text of your own, under which bot tokens lie encrypted in Redis"),
  SLACK_API_URL: url.optional().describe("Slack: another Web API address, e.g. http://127.0.0.1:9000/api/"),
  DISCORD_TOKEN: z.string().min(1).optional().describe("Discord: bot token (Bot → Reset Token)"),
  DISCORD_API_URL: url
    .optional()
    .describe("Discord: another address of the API without version, e.g. http://127.0.0.1:9000/api"),
  DISCORD_CDN_URL: url.optional().describe("Discord: another address of the files that people attach"),
  ANTHROPIC_API_KEY: z.string().min(1).optional().describe("key for anthropic/* models"),
  ANTHROPIC_BASE_URL: url.optional().describe("another address of the Anthropic Messages API"),
  OPENAI_API_KEY: z.string().min(1).optional().describe("key for openai/* models"),
  OPENAI_BASE_URL: url.optional().describe("another address of an OpenAI-compatible API"),
  MINIMAX_API_KEY: z.string().min(1).optional().describe("key for minimax/* models"),
  MINIMAX_BASE_URL: url.optional().describe("another address of MiniMax's Anthropic-compatible API"),
  REDIS_URL: z
    .string()
    .regex(
      /^(rediss?(\+cluster|\+sentinel)?|unix):\/\/|^\//,
      "expected redis://, redis+cluster://, redis+sentinel://, the same with rediss, or the path of a socket",
    )
    .optional()
    .describe("Redis or Valkey; without it a server of the system is started, else the embedded one"),
  REDIS_CA: z.string().min(1).optional().describe("a file with the certificates (PEM) that rediss:// trusts"),
  REDIS_SENTINEL_PASSWORD: z.string().min(1).optional().describe("of the sentinels, where they ask for one"),
  HEDDLE_MODEL: modelName.optional().describe("the model; without it the first key found decides"),
  HEDDLE_DATA_DIR: z.string().min(1).default("./data").describe("workspaces and the local Redis live here"),
  HEDDLE_CONFIG: z.string().min(1).default("./heddle.yaml").describe("the settings file"),
  HEDDLE_HOST: z.string().min(1).default("127.0.0.1").describe("address of the console"),
  HEDDLE_PORT: port.default(8420).describe("port of the console; 0 takes a free one"),
  HEDDLE_CONSOLE_TOKEN: z
    .string()
    .min(16, "expected at least 16 characters")
    .optional()
    .describe("required when HEDDLE_HOST is not a loopback address"),
  HEDDLE_LOG_LEVEL: z
    .enum(["trace", "debug", "info", "warn", "error", "silent"])
    .default("info")
    .describe("log level"),
  HEDDLE_METRICS_PORT: port
    .optional()
    .describe("port of /metrics where there is no console (--role worker), on HEDDLE_HOST; off unless set"),
  OTEL_EXPORTER_OTLP_ENDPOINT: url
    .optional()
    .describe(
      "OpenTelemetry collector (OTLP/HTTP), e.g. http://127.0.0.1:4318; without it nothing is traced",
    ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url
    .optional()
    .describe("the same with its whole path, e.g. http://127.0.0.1:4318/v1/traces; it wins"),
  OTEL_EXPORTER_OTLP_HEADERS: z
    .string()
    .optional()
    .describe("headers for the collector, e.g. authorization=Bearer%20KEY,x-team=a"),
  OTEL_SERVICE_NAME: z.string().min(1).default("heddle").describe("the service's name in traces"),
  EMBEDDED_REDIS: z.enum(["1"]).optional().describe("1 allows the embedded Redis with NODE_ENV=production"),
  HEDDLE_UNSAFE: z
    .enum(["no-sandbox"])
    .optional()
    .describe("no-sandbox confirms sandbox.backend: none in heddle.yaml"),
  NODE_ENV: z.string().optional().describe("production refuses what is for development only"),
});

export type Environment = z.infer<typeof environmentSchema>;

const dollars = z.number().nonnegative();

const slackReaction = z
  .string()
  .regex(/^[a-z0-9_+'-]*$/, "expected names without colons, e.g. octagonal_sign");

/** The reactions with which the bot shows the state of people's messages, where they are others than usual. */
function marks(reaction: z.ZodString) {
  const shown = (when: string) => reaction.exactOptional().describe(`reaction: ${when}; "" for none`);
  return z
    .strictObject({
      taken: shown("a turn works on the message, 👀"),
      waiting: shown("the message waits, ⏳"),
      answered: shown("answered, ✅"),
      stopped: shown("stopped or withdrawn, 🛑"),
      failed: shown("told as failed, ⚠️"),
    })
    .prefault({});
}

export const settingsSchema = z.strictObject({
  model: modelName.optional().describe("the model; HEDDLE_MODEL in the environment wins"),
  fallbackModels: z
    .array(modelName)
    .default([])
    .describe("asked in this order when the model is down, out of credit or gone"),
  summaryModel: modelName
    .optional()
    .describe("writes the summaries of long conversations; without it the model itself"),
  models: z
    .record(
      modelName,
      z.strictObject({
        contextTokens: count(1_000, 100_000_000).exactOptional().describe("the window"),
        maxOutputTokens: count(100, 10_000_000).exactOptional().describe("of one reply"),
        images: z.boolean().exactOptional().describe("whether it sees images"),
        price: z
          .strictObject({ input: dollars, output: dollars, cacheRead: dollars, cacheWrite: dollars })
          .exactOptional()
          .describe("US dollars per million tokens"),
      }),
    )
    .default({})
    .describe(
      "limits of models that nobody else knows, by name; these count more than what the service says",
    ),
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
        .describe("share of the model's window beyond which a conversation is made smaller"),
      retainRounds: count(0, 1_000)
        .default(10)
        .describe("rounds (a message and all up to the next) that stay word for word, as far as they fit"),
      retainSteps: count(1, 100).default(2).describe("steps of the work that stay word for word in any case"),
    })
    .prefault({}),
  retry: z
    .strictObject({
      maxRetries: count(0, 20).default(3).describe("0 switches retries off"),
      baseMs: count(1, 60_000).default(1_000).describe("first back-off"),
      capMs: count(1, 600_000).default(60_000).describe("longest back-off"),
      deadlineMs: count(1_000, 7_200_000)
        .default(600_000)
        .describe("all attempts of one model call together"),
      idleMs: count(1_000, 3_600_000)
        .exactOptional()
        .describe(
          "a stream silent for this long counts as failed; without it 90,000 with Anthropic's protocol and 300,000 with OpenAI's",
        ),
    })
    .prefault({}),
  modelChoices: modelChoices.default([]),
  access: accessSchema,
  channels: channelsSchema,
  attachments: z
    .strictObject({
      files: count(0, 1_000).default(20).describe("files of one message that are brought in"),
      fileMb: z.number().positive().max(1_024).default(50).describe("largest file"),
      messageMb: z.number().positive().max(10_240).default(200).describe("all files of one message"),
      seconds: count(1, 3_600).default(120).describe("time limit of one file"),
    })
    .prefault({}),
  room: z
    .strictObject({
      messages: count(0, 500)
        .default(50)
        .describe("messages that are read when a mention comes in a thread that began without the bot"),
      characters: count(500, 200_000)
        .default(20_000)
        .describe("of the words of others that go along with a message"),
    })
    .prefault({}),
  slack: z
    .strictObject({
      stopReactions: z
        .array(slackReaction.min(1))
        .min(1)
        .default(["octagonal_sign", "stop_sign", "no_entry", "black_square_for_stop"])
        .describe("reactions that stop a turn"),
      marks: marks(slackReaction),
      http: z
        .strictObject({
          host: z.string().min(1).default("127.0.0.1").describe("address that takes Slack's requests"),
          port: count(0, 65_535).default(3000).describe("its port; 0 takes a free one"),
        })
        .prefault({}),
      workspaces: z
        .array(z.string().regex(/^T[A-Z0-9]+$/, "expected ids of workspaces, e.g. T012345"))
        .default([])
        .describe("who may install the app with SLACK_CLIENT_ID; nobody by default"),
    })
    .prefault({}),
  discord: z
    .strictObject({
      messageContent: z
        .boolean()
        .default(true)
        .describe("whether the app has the Message Content intent; without it every message needs a mention"),
      stopReactions: z
        .array(z.string().min(1))
        .min(1)
        .default(["🛑", "⛔", "⏹️"])
        .describe("reactions that stop a turn: an emoji, or the name of one of the server's own"),
      marks: marks(z.string()),
      shards: z
        .strictObject({ ids: z.array(count(0, 100_000)).min(1), total: count(1, 100_000) })
        .refine(({ ids, total }) => ids.every((id) => id < total), "expected ids below the total")
        .exactOptional()
        .describe("the part of all servers that this gateway listens to; without it all of them"),
    })
    .prefault({}),
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
              .describe("only commands that read so from beginning to end, e.g. git push*"),
            action: z.enum(["allow", "ask", "deny"]).describe("ask: a person must approve each call"),
            why: z.string().min(1).max(300).exactOptional().describe("for people and for the model"),
          }),
        )
        .default([])
        .describe(
          "what the agent's tools may do: the first rule that matches decides; each command of a script is judged by itself, and the strictest verdict holds. A guard rail; the sandbox is the boundary",
        ),
      default: z.enum(["allow", "ask", "deny"]).default("allow").describe("for calls that no rule matches"),
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
        .describe("by name: the content that a skill must have to be loaded"),
    })
    .prefault({}),
  mcp: z
    .strictObject({
      config: z
        .string()
        .min(1)
        .default("mcp.json")
        .describe("the file that lists MCP servers; it may be missing"),
      connectSeconds: z.number().positive().default(10).describe("time limit of a connection"),
      executeSeconds: z.number().positive().default(60).describe("time limit of a call"),
      readSeconds: z.number().positive().default(120).describe("longest silence of an SSE stream"),
    })
    .prefault({}),
  sandbox: z
    .strictObject({
      backend: z
        .enum(["auto", "none"])
        .default("auto")
        .describe(
          "auto: what this system offers. none: no isolation at all; needs HEDDLE_UNSAFE=no-sandbox as well, and no chat platform",
        ),
      require: z
        .enum(["any", "cgroup"])
        .default("any")
        .describe("cgroup: refuse to run commands where no control group holds their limits"),
      commandSeconds: count(1, 600).default(120).describe("time limit of a command that asks for no other"),
      commandSecondsMax: count(1, 600).default(600).describe("longest time that a command gets when it asks"),
      jobMinutes: count(1, 35_000).default(360).describe("time limit of a background job"),
      outputKb: count(16, 1_048_576)
        .default(4096)
        .describe("output kept of a command that names no limit; ended at 16 times as much"),
      jobOutputKb: count(16, 1_048_576)
        .default(8192)
        .describe("output kept of a background job; ended at 16 times as much"),
      memoryMb: count(32, 1_048_576).default(2048).describe("memory of a command and its children"),
      processMemoryMb: count(32, 1_048_576).default(1024).describe("private memory of a single process"),
      processes: count(8, 100_000).default(200).describe("processes of a command"),
      cpus: z.number().min(0.05).max(1024).default(2).describe("CPUs of a command; needs a control group"),
      fileMb: count(1, 1_048_576).default(256).describe("largest file"),
      workspaceMb: count(1, 1_048_576).default(4096).describe("files of a thread, on disk"),
      workspaceFiles: count(100, 100_000_000).default(400_000).describe("files of a thread, counted"),
      freeMb: count(0, 1_048_576).default(512).describe("free disk below which no thread may write"),
      jobsPerThread: count(0, 100).default(4).describe("background jobs of one thread"),
      jobs: count(0, 10_000).default(32).describe("background jobs of all threads of a worker"),
    })
    .prefault({}),
  egress: z
    .strictObject({
      allow: hosts.describe("hosts that every thread's commands reach over https; none by default"),
      channels: z
        .record(channelId, z.strictObject({ allow: hosts }))
        .default({})
        .describe("more hosts for a channel's threads, e.g. slack:T012345:C012345"),
      credentials: z
        .array(
          z.strictObject({
            host: z.string().regex(hostName, "expected a host's name, e.g. api.example.com"),
            header: z
              .string()
              .regex(/^[A-Za-z0-9-]+$/, "expected the name of a header")
              .default("authorization")
              .describe("the header that the proxy adds"),
            variable: z
              .string()
              .min(1)
              .describe('the environment variable with its whole value, e.g. "Bearer ..." or "Basic ..."'),
            channels: z.array(channelId).exactOptional().describe("only for these channels"),
          }),
        )
        .default([])
        .describe("headers that the proxy adds to requests, so that the sandbox never has their value"),
      connections: count(1, 1000).default(64).describe("connections of a thread at once"),
      mbPerDay: count(1, 1_048_576).default(2048).describe("what a thread may move in a day, both ways"),
    })
    .prefault({}),
  workspaces: z
    .strictObject({
      idleDays: count(1, 3650).default(30).describe("a workspace unused for this long becomes an archive"),
      archiveDays: count(1, 3650).default(365).describe("an archive this old is removed"),
      store: z
        .string()
        .min(1)
        .exactOptional()
        .describe("a folder that all workers share; with it a thread's workspace moves between them"),
    })
    .prefault({}),
  queue: z
    .strictObject({
      concurrency: count(1, 500).default(50).describe("turns at once in one worker process"),
      perUser: count(1, 10_000).default(10).describe("turns at once that one person has asked for"),
      perChannel: count(1, 10_000).default(20).describe("turns at once in one channel"),
      total: count(1, 100_000).default(1_000).describe("turns at once in all workers together"),
      lockSeconds: count(2, 300).default(15).describe("a worker silent for this long is replaced"),
      hangSeconds: count(1, 3600)
        .default(5)
        .describe("a worker that does not respond for this long is killed"),
      sweepSeconds: count(1, 3600).default(60).describe("how often forgotten threads are looked for"),
    })
    .prefault({}),
  schedules: z
    .strictObject({
      perThread: count(1, 1_000).default(20).describe("tasks that may be planned in one thread"),
      shortestMinutes: z
        .number()
        .positive()
        .max(1_440)
        .default(5)
        .describe("least time between two turns that begin by themselves"),
    })
    .prefault({}),
  budgets: budgetsSchema.prefault({}),
  sessions: z
    .strictObject({
      expireDays: count(1, 3650).default(90).describe("silence after which a session is forgotten"),
    })
    .prefault({}),
  telemetry: z
    .strictObject({
      auditFolder: z
        .string()
        .min(1)
        .exactOptional()
        .describe(
          "where the audit log of past days is kept; without it audit in the data folder. All gateways share it",
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
      stepDelayMs: count(0, 60_000).optional().describe("pause between the words that it streams"),
    })
    .prefault({}),
});

export type Settings = z.infer<typeof settingsSchema>;
