import { readFile } from "node:fs/promises";
import { isAbsolute, normalize } from "node:path";
import { z } from "zod";
import type { ServiceAccess } from "../../sandbox/service.ts";
import { isObject } from "../llm/wire-calls.ts";
import { dropByteOrderMark } from "../text/text.ts";
import { explainUnreadable } from "../file-problems.ts";
import { findPasswords } from "../text/url-passwords.ts";
import {
  type McpConfig,
  McpConfigError,
  type McpEndpoint,
  type McpServer,
  type McpTimeouts,
  type SignInSettings,
} from "./config.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads `mcp.json`; a file that does not exist is a configuration without servers.
 *
 * @throws McpConfigError
 */
export async function readMcpConfig(path: string, env: Environment): Promise<McpConfig> {
  const text = await readIfThere(path);
  if (text === undefined) return { servers: [], secrets: [] };
  try {
    return parseMcpConfig(text, env);
  } catch (error) {
    throw error instanceof McpConfigError ? new McpConfigError(`${path}: ${error.message}`) : error;
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return dropByteOrderMark(await readFile(path, "utf8"));
  } catch (error) {
    const why = explainUnreadable(path, error);
    if (why === undefined) return undefined;
    throw new McpConfigError(why);
  }
}

/**
 * Parses the common format, `{"mcpServers": {"name": {"command": ...} | {"url": ...}}}`. `${NAME}` and
 * `${NAME:-default}` are taken from `env` in every text of an entry. A faulty entry costs only itself.
 *
 * @throws McpConfigError when the text as a whole is not in that format.
 */
export function parseMcpConfig(text: string, env: Environment): McpConfig {
  const entries = fileSchema.safeParse(parseJson(text));
  if (!entries.success) {
    throw new McpConfigError(
      'expected an object like {"mcpServers": {"memory": {"command": "mcp-server-memory"}}}.',
    );
  }
  const secrets = new Set<string>();
  const servers = Object.entries(entries.data.mcpServers).map(([name, entry]) =>
    parseServer(name, entry, env, secrets),
  );
  return { servers, secrets: [...secrets] };
}

const fileSchema = z.object({ mcpServers: z.record(z.string(), z.unknown()) });

// A day at most: Node's timers overflow at 24.8 days.
const seconds = z
  .number()
  .gt(0, "expected a number of seconds above 0")
  .max(86_400, "expected at most 86400 seconds");
const variables = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]).transform(String));

const paths = z.array(z.string()).default([]);
const hostPattern = /^(\*\.)?(?=.{1,253}$)[a-z0-9-]+(\.[a-z0-9-]+)+$/;

const sandboxExample = '{"read": ["/srv/docs"], "write": [], "network": ["api.example.com"]}';

/** Strict, unlike the entry: what is misspelt here would be missing in the sandbox without a word. */
const sandboxSchema = z.strictObject({
  read: paths,
  write: paths,
  network: z
    .union(
      [z.literal("host"), z.array(z.string())],
      'expected a list of hosts such as ["api.example.com"], or "host"',
    )
    .default([]),
});

/** Loose, because other clients keep keys of their own in the same file. The three time-outs are in seconds. */
const entrySchema = z.looseObject({
  type: z.string().optional(),
  command: z.string().optional(),
  args: z.array(z.string()).default([]),
  env: variables.default({}),
  cwd: z.string().optional(),
  sandbox: z
    .unknown()
    .prefault({})
    .transform((raw, context) => {
      if (raw === false) return raw;
      const parsed = sandboxSchema.safeParse(raw);
      if (parsed.success) return parsed.data;
      const issues = isObject(raw)
        ? parsed.error.issues
        : [{ path: [], message: `expected false or an object such as ${sandboxExample}` }];
      for (const { path, message } of issues) context.addIssue({ code: "custom", path, message });
      return z.NEVER;
    }),
  url: z.string().optional(),
  headers: variables.default({}),
  signIn: z
    .union(
      [
        z.literal(true).transform(() => ({})),
        z.strictObject({
          accounts: z.enum(["installation", "person"]).exactOptional(),
          clientId: z.string().min(1).exactOptional(),
          clientSecret: z.string().min(1).exactOptional(),
          scope: z.string().min(1).exactOptional(),
          hosts: z
            .array(z.string().refine(isHost, 'expected hosts such as "sso.internal" or "localhost:9000"'))
            .exactOptional(),
        }),
      ],
      'expected true or an object such as {"clientId": "heddle", "scope": "read"}',
    )
    .exactOptional(),
  connect_timeout: seconds.optional(),
  execute_timeout: seconds.optional(),
  sse_read_timeout: seconds.optional(),
  trust: z.boolean().default(false),
  always: z.boolean().default(false),
});

type Entry = z.infer<typeof entrySchema>;

function parseServer(name: string, raw: unknown, env: Environment, secrets: Set<string>): McpServer {
  if (z.object({ disabled: z.literal(true) }).safeParse(raw).success) return { state: "disabled", name };
  const parsed = entrySchema.safeParse(raw);
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => `${issue.path.join(".") || "entry"}: ${issue.message}`);
    return { state: "invalid", name, problem: `${faults.join("; ")}.` };
  }
  const entry = parsed.data;
  const missing = new Set<string>();
  const endpoint = parseEndpoint(entry, (text) => expand(text, env, missing, secrets));
  if (missing.size > 0) {
    const names = [...missing].join(", ");
    const problem = `The environment has no ${names}; set it, or give a default as in \${NAME:-default}.`;
    return { state: "invalid", name, problem };
  }
  if ("problem" in endpoint) return { state: "invalid", name, problem: endpoint.problem };
  if (entry.always && endpoint.kind !== "stdio" && endpoint.signIn?.accounts === "person") {
    const problem = `"always" does not go with accounts of persons: each has tools of their own there, which are found.`;
    return { state: "invalid", name, problem };
  }
  const settings = endpoint.kind === "stdio" ? endpoint.env : endpoint.headers;
  if (endpoint.kind !== "stdio" && endpoint.signIn?.clientSecret !== undefined)
    secrets.add(endpoint.signIn.clientSecret);
  const sent = endpoint.kind === "stdio" ? [] : endpoint.url.searchParams;
  for (const [key, value] of [...Object.entries(settings), ...sent]) noteSecret(key, value, secrets);
  return {
    state: "enabled",
    name,
    endpoint,
    timeouts: parseTimeouts(entry),
    trust: entry.trust,
    always: entry.always,
  };
}

function parseEndpoint(entry: Entry, expanded: (text: string) => string): McpEndpoint | { problem: string } {
  const kind = endpointKind(entry);
  if (kind === "stdio") {
    if (!entry.command) return { problem: "It has neither a command nor a url; give one of them." };
    const access = entry.sandbox && parseAccess(entry.sandbox, expanded);
    if (access && "problem" in access) return access;
    return {
      kind,
      command: expanded(entry.command),
      args: entry.args.map(expanded),
      env: mapValues(entry.env, expanded),
      ...(entry.cwd === undefined ? {} : { cwd: expanded(entry.cwd) }),
      access: access || "none",
    };
  }
  const url = entry.url ? URL.parse(expanded(entry.url)) : null;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    return { problem: "Its url is not an http or https address, for example https://example.com/mcp." };
  }
  const { signIn } = entry;
  return {
    kind,
    url,
    headers: mapValues(entry.headers, expanded),
    ...(signIn && { signIn: expandSignIn(signIn, expanded) }),
  };
}

function expandSignIn(
  { accounts, hosts, ...texts }: SignInSettings,
  expanded: (text: string) => string,
): SignInSettings {
  return { ...(accounts && { accounts }), ...(hosts && { hosts }), ...mapValues(texts, expanded) };
}

function isHost(text: string): boolean {
  return URL.parse(`https://${text}`)?.host === text;
}

function parseAccess(
  { read, write, network }: z.infer<typeof sandboxSchema>,
  expanded: (text: string) => string,
): ServiceAccess | { problem: string } {
  const access: ServiceAccess = {
    read: read.map((path) => normalize(expanded(path))),
    write: write.map((path) => normalize(expanded(path))),
    network: network === "host" ? network : network.map((host) => expanded(host).toLowerCase()),
  };
  const relative = [...access.read, ...access.write].find((path) => !isAbsolute(path));
  if (relative !== undefined) {
    return { problem: `sandbox: ${relative} is not an absolute path, for example /srv/docs.` };
  }
  const listed = access.network === "host" ? [] : access.network;
  const odd = listed.find((host) => !hostPattern.test(host));
  return odd === undefined
    ? access
    : { problem: `sandbox.network: ${odd} is not a host such as example.com or *.example.com.` };
}

/** By its type, if that is known; otherwise a URL means streamable HTTP, and anything else a command. */
function endpointKind(entry: Entry): McpEndpoint["kind"] {
  switch ((entry.type ?? "").toLowerCase().replaceAll(/[-_]/g, "")) {
    case "stdio":
      return "stdio";
    case "sse":
      return "sse";
    case "http":
    case "streamablehttp":
      return "http";
    default:
      return entry.url ? "http" : "stdio";
  }
}

function parseTimeouts(entry: Entry): Partial<McpTimeouts> {
  const { connect_timeout: connect, execute_timeout: execute, sse_read_timeout: read } = entry;
  return {
    ...(connect === undefined ? {} : { connectMs: connect * 1000 }),
    ...(execute === undefined ? {} : { executeMs: execute * 1000 }),
    ...(read === undefined ? {} : { readMs: read * 1000 }),
  };
}

/** As in a shell, `:-` also replaces an empty value. */
function expand(text: string, env: Environment, missing: Set<string>, secrets: Set<string>): string {
  const expanded = text.replaceAll(
    /\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g,
    (_, name: string, fallback: string | undefined) => {
      const value = (fallback === undefined ? env[name] : env[name] || fallback) ?? "";
      if (env[name] === undefined && fallback === undefined) missing.add(name);
      noteSecret(name, value, secrets);
      return value;
    },
  );
  for (const password of findPasswords(expanded)) secrets.add(password);
  return expanded;
}

/** `PWD` alone is the folder that a shell is in. */
const secretName =
  /key|token|secret|passw|credential|cookie|authorization|(^|[_-])(auth|pass|pat)([_-]|$)|[_-]pwd([_-]|$)/i;

/**
 * Only values whose name says so: masking `production` wherever it appears would garble the conversation without
 * protecting anything.
 */
function noteSecret(name: string, value: string, secrets: Set<string>): void {
  if (!secretName.test(name)) return;
  // "Bearer abc": the scheme is no secret.
  const secret = value.replace(/^(bearer|basic|token) +/i, "");
  if (secret) secrets.add(secret);
}

function mapValues(
  record: Record<string, string>,
  change: (value: string) => string,
): Record<string, string> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the text around the fault, which may hold a key.
    throw new McpConfigError("it is not JSON; check commas and quotes (comments are not allowed).");
  }
}
