import { z } from "zod";

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
  SLACK_API_URL: url.optional().describe("Slack: another Web API address, e.g. http://127.0.0.1:9000/api/"),
  ANTHROPIC_API_KEY: z.string().min(1).optional().describe("key for anthropic/* models"),
  ANTHROPIC_BASE_URL: url.optional().describe("another address of the Anthropic Messages API"),
  OPENAI_API_KEY: z.string().min(1).optional().describe("key for openai/* models"),
  OPENAI_BASE_URL: url.optional().describe("another address of an OpenAI-compatible API"),
  MINIMAX_API_KEY: z.string().min(1).optional().describe("key for minimax/* models"),
  MINIMAX_BASE_URL: url.optional().describe("another address of MiniMax's Anthropic-compatible API"),
  REDIS_URL: z
    .string()
    .regex(/^(redis|rediss|unix):\/\/|^\//, "expected redis://, rediss:// or the path of a socket")
    .optional()
    .describe("Redis or Valkey; without it a server of the system is started, else the embedded one"),
  HEDDLE_MODEL: z
    .string()
    .regex(
      /^(demo|(anthropic|openai|minimax)\/.+)$/,
      "expected anthropic/<id>, openai/<id>, minimax/<id> or demo",
    )
    .optional()
    .describe("the model; without it the first key found decides"),
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
  EMBEDDED_REDIS: z.enum(["1"]).optional().describe("1 allows the embedded Redis with NODE_ENV=production"),
  NODE_ENV: z.string().optional().describe("production refuses what is for development only"),
});

export type Environment = z.infer<typeof environmentSchema>;

const count = (min: number, max: number) => z.number().int().min(min).max(max);

export const settingsSchema = z.strictObject({
  model: environmentSchema.shape.HEDDLE_MODEL.describe("the model; HEDDLE_MODEL in the environment wins"),
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
  retry: z
    .strictObject({
      maxRetries: count(0, 20).default(3).describe("0 switches retries off"),
      baseMs: count(1, 60_000).default(1_000).describe("first back-off"),
      capMs: count(1, 600_000).default(60_000).describe("longest back-off"),
      deadlineMs: count(1_000, 7_200_000)
        .default(600_000)
        .describe("all attempts of one model call together"),
      idleMs: count(1_000, 3_600_000)
        .default(90_000)
        .describe("a stream silent for this long counts as failed"),
    })
    .prefault({}),
  slack: z
    .strictObject({
      stopReactions: z
        .array(z.string().regex(/^[a-z0-9_+'-]+$/, "expected names without colons, e.g. octagonal_sign"))
        .min(1)
        .default(["octagonal_sign", "stop_sign", "no_entry", "black_square_for_stop"])
        .describe("reactions that stop a turn"),
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
      commandSeconds: count(1, 600).optional().describe("default time limit of a command"),
      memoryMb: count(32, 1_048_576).optional().describe("memory of a command and its children"),
      processes: count(8, 100_000).optional().describe("processes of a command"),
      fileMb: count(1, 1_048_576).optional().describe("largest file"),
      workspaceMb: count(1, 1_048_576).optional().describe("size of a workspace"),
      jobsPerThread: count(0, 100).optional().describe("background jobs of one thread"),
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
  sessions: z
    .strictObject({
      expireDays: count(1, 3650).default(90).describe("silence after which a session is forgotten"),
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
