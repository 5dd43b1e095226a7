import { z } from "zod";
import { modelName, url } from "./values.ts";

/** Secrets and endpoints: what comes from the environment or `.env`. */

const port = z.coerce
  .number("expected a number from 0 to 65535, e.g. 8420")
  .pipe(z.int("expected a number from 0 to 65535, e.g. 8420").min(0).max(65_535));

export const environmentSchema = z.object({
  SLACK_BOT_TOKEN: z.string().optional().describe("Slack: bot token (OAuth & Permissions)"),
  SLACK_APP_TOKEN: z
    .string()
    .optional()
    .describe("Slack: app-level token with connections:write (Socket Mode)"),
  SLACK_SIGNING_SECRET: z
    .string()
    .optional()
    .describe("Slack: receives events as signed HTTP requests instead of Socket Mode (Basic Information)"),
  SLACK_CLIENT_ID: z
    .string()
    .optional()
    .describe("Slack: lets the workspaces of slack.workspaces install the app; instead of SLACK_BOT_TOKEN"),
  SLACK_CLIENT_SECRET: z
    .string()
    .optional()
    .describe("Slack: belongs to SLACK_CLIENT_ID (Basic Information)"),
  SLACK_STATE_SECRET: z
    .string()
    .min(32, "expected at least 32 characters")
    .optional()
    .describe(
      "Slack: a random text of your own, from which the key is derived that encrypts bot tokens in Redis",
    ),
  SLACK_API_URL: url
    .optional()
    .describe("Slack: Web API base URL, if not Slack's own, e.g. http://127.0.0.1:9000/api/"),
  DISCORD_TOKEN: z.string().min(1).optional().describe("Discord: bot token (Bot → Reset Token)"),
  DISCORD_API_URL: url
    .optional()
    .describe(
      "Discord: API base URL without the version, if not Discord's own, e.g. http://127.0.0.1:9000/api",
    ),
  DISCORD_CDN_URL: url.optional().describe("Discord: base URL of attached files, if not Discord's own"),
  ANTHROPIC_API_KEY: z.string().min(1).optional().describe("key for anthropic/* models"),
  ANTHROPIC_BASE_URL: url.optional().describe("base URL of a service that speaks the Anthropic Messages API"),
  OPENAI_API_KEY: z.string().min(1).optional().describe("key for openai/* models"),
  OPENAI_BASE_URL: url.optional().describe("base URL of an OpenAI-compatible API"),
  MINIMAX_API_KEY: z.string().min(1).optional().describe("key for minimax/* models"),
  MINIMAX_BASE_URL: url.optional().describe("base URL of MiniMax's Anthropic-compatible API"),
  BRAVE_API_KEY: z.string().min(1).optional().describe("key of Brave Search, for web.search: brave"),
  TAVILY_API_KEY: z.string().min(1).optional().describe("key of Tavily, for web.search: tavily"),
  GITHUB_APP_CLIENT_ID: z
    .string()
    .min(1)
    .optional()
    .describe("GitHub App: client id, for repositories on GitHub without a tokenVariable"),
  GITHUB_APP_PRIVATE_KEY: z
    .string()
    .min(1)
    .optional()
    .describe("GitHub App: its private key (PEM); line breaks may be written as \\n"),
  GITHUB_APP_PRIVATE_KEY_FILE: z
    .string()
    .min(1)
    .optional()
    .describe("GitHub App: the file with its private key, instead of GITHUB_APP_PRIVATE_KEY"),
  REDIS_URL: z
    .string()
    .regex(
      /^(rediss?(\+cluster|\+sentinel)?|unix):\/\/|^\//,
      "expected redis://, redis+cluster://, redis+sentinel://, the same with rediss, or the path of a socket",
    )
    .optional()
    .describe("Redis or Valkey (docs/operations.md has the forms); without it Heddle starts one itself"),
  REDIS_CA: z.string().min(1).optional().describe("a file with the certificates (PEM) that rediss:// trusts"),
  REDIS_SENTINEL_PASSWORD: z
    .string()
    .min(1)
    .optional()
    .describe("the sentinels' own password, if they have one"),
  HEDDLE_MODEL: modelName
    .optional()
    .describe(
      "anthropic/<id>, openai/<id>, minimax/<id>, <name of a provider>/<id> or demo; without it the first key found decides",
    ),
  HEDDLE_DATA_DIR: z
    .string()
    .min(1)
    .default("./data")
    .describe("the folder of workspaces, of archives and of the Redis that Heddle starts itself"),
  HEDDLE_CONFIG: z.string().min(1).default("./heddle.yaml").describe("the settings file"),
  HEDDLE_HOST: z.string().min(1).default("127.0.0.1").describe("address of the console"),
  HEDDLE_PORT: port.default(8420).describe("port of the console; 0 takes a free one"),
  HEDDLE_CONSOLE_TOKEN: z
    .string()
    .min(16, "expected at least 16 characters")
    .optional()
    .describe(
      "token that the console asks for; required when HEDDLE_HOST is not a loopback address. Without it, where others of this machine could reach the console, a file console.token in the data folder, made at the first start",
    ),
  HEDDLE_CONSOLE_OPEN: z
    .enum(["0", "1"])
    .optional()
    .describe("1 lets everybody on this machine use the console without a token"),
  HEDDLE_OPENID_CLIENT_SECRET: z
    .string()
    .min(1)
    .optional()
    .describe("secret of the client that console.openIdConnect names"),
  HEDDLE_AUDIT_KEY: z
    .string()
    .min(32, "expected at least 32 characters, e.g. what openssl rand -hex 32 prints")
    .optional()
    .describe(
      "key of the audit log, the same for all processes; without it a file audit.key in the data folder, made at the first start",
    ),
  HEDDLE_SEAL_KEY: z
    .string()
    .min(32, "expected at least 32 characters, e.g. what openssl rand -hex 32 prints")
    .optional()
    .describe(
      "seals the accounts at MCP servers and the GitHub App in Redis, the same for all processes; without it a file seal.key in the data folder, made when there is something to seal",
    ),
  HEDDLE_LOG_LEVEL: z
    .enum(["trace", "debug", "info", "warn", "error", "silent"])
    .default("info")
    .describe("lowest level that is logged"),
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
    .describe("the same with the full path, e.g. http://127.0.0.1:4318/v1/traces; takes precedence"),
  OTEL_EXPORTER_OTLP_HEADERS: z
    .string()
    .optional()
    .describe("headers for the collector, e.g. authorization=Bearer%20KEY,x-team=a"),
  OTEL_SERVICE_NAME: z.string().min(1).default("heddle").describe("the service's name in traces"),
  EMBEDDED_REDIS: z
    .enum(["1"])
    .optional()
    .describe("without effect: the embedded Redis is allowed wherever there is no other"),
  HEDDLE_NO_INSTALL: z
    .enum(["0", "1"])
    .optional()
    .describe("1 forbids npm start to install anything: packages, Node, bubblewrap, a Redis server"),
  HEDDLE_UNSAFE: z
    .enum(["no-sandbox"])
    .optional()
    .describe("no-sandbox confirms sandbox.backend: none in heddle.yaml"),
  NODE_ENV: z.string().optional().describe("for the libraries; Heddle itself does the same whatever it says"),
});

export type Environment = z.infer<typeof environmentSchema>;
