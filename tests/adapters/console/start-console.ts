/** The real console on a real Redis, with an intake that does what a test says. */
import { execFile } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createConsoleAdapter } from "../../../src/adapters/console/adapter.ts";
import type { IdentityHeader } from "../../../src/adapters/console/server/person.ts";
import type { OpenIdOptions } from "../../../src/adapters/console/server/sign-in-routes.ts";
import type { ConsoleStatus, Services } from "../../../src/adapters/console/services.ts";
import { createConsoleSurface } from "../../../src/adapters/console/conversations/surface.ts";
import type { Speaker } from "../../../src/agent/messages.ts";
import { createMasker } from "../../../src/agent/secrets/mask-secrets.ts";
import { createSkillLibrary } from "../../../src/agent/skills/library.ts";
import type { InboundEvent, Intake, IntakeResult } from "../../../src/chat/inbound.ts";
import type { ChatSurface } from "../../../src/chat/surface.ts";
import { threadId } from "../../../src/chat/threads.ts";
import { environmentSchema } from "../../../src/config/environment.ts";
import { settingsSchema } from "../../../src/config/schema.ts";
import { createAccess } from "../../../src/intake/access.ts";
import { createAccessTokens } from "../../../src/operations/people/access-tokens.ts";
import type { WorkspaceFiles } from "../../../src/operations/threads/files.ts";
import type { SettingsReport } from "../../../src/operations/reports.ts";
import { openOperations } from "../../../src/operations/open.ts";
import type { BudgetSettings } from "../../../src/queue/budgets/budgets.ts";
import { openTurnQueue } from "../../../src/queue/turns/wake-queue.ts";
import { readPresence } from "../../../src/queue/turns/worker-presence.ts";
import { defaultLimits } from "../../../src/sandbox/limits.ts";
import { type ConsoleSetupOptions, openConsoleSetup } from "../../../src/app/setup/console-setup.ts";
import { type HearingOptions, openHearing } from "../../../src/app/setup/hearing.ts";
import { openGithubAppSetup } from "../../../src/app/setup/github-app.ts";
import type { SetupAuditEvent, ThreadAuditEvent } from "../../../src/telemetry/audit/fact.ts";
import type { FileEntry } from "../../../src/sandbox/sandbox.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

export type MessageEvent = Extract<InboundEvent, { kind: "message" }>;

/** Records what arrives and answers with `verdict`. */
class TestIntake implements Intake {
  readonly events: InboundEvent[] = [];
  result: (event: InboundEvent) => IntakeResult | Promise<IntakeResult> = accept;
  readonly #arrivals = new EventEmitter();

  async receive(event: InboundEvent): Promise<IntakeResult> {
    this.events.push(event);
    this.#arrivals.emit("event");
    return await this.result(event);
  }

  /** The event with this number, counted from 1; waits for it. */
  async event(number: number): Promise<InboundEvent> {
    for (;;) {
      const event = this.events[number - 1];
      if (event) return event;
      await once(this.#arrivals, "event");
    }
  }
}

export interface TestConsole extends AsyncDisposable {
  url: string;
  redis: TestRedis;
  intake: TestIntake;
  surface: ChatSurface;
  /** What the workspace of every thread holds, by path. */
  workspace: Map<string, string | Buffer>;
  /** What was written into the audit log about whole threads. */
  audited: ThreadAuditEvent[];
  /** And about the set-up. */
  setUp: SetupAuditEvent[];
  /** Whom a provider has signed in. */
  signedIn: Speaker[];
  /** Where the set-up stores `.env`. */
  folder: string;
  status: ConsoleStatus;
  /** What the console logged as errors. */
  errors: unknown[];
  warnings: unknown[];
}

export interface ConsoleSettings {
  redis?: TestRedis;
  host?: string;
  /** Default: a free one. */
  port?: number;
  token?: string;
  proxies?: string[];
  identity?: IdentityHeader;
  /** Whom it signs in is told in `signedIn`. */
  openId?: OpenIdOptions;
  access?: object;
  /** Instead of what `access` says. */
  mayUse?: Services["mayUse"];
  recheckMs?: number;
  budgets?: Partial<BudgetSettings>;
  /** What is configured and in force. */
  configuration?: SettingsReport;
  /** What triggers may use in a day, by name. */
  triggerBudgets?: Record<string, { cost?: number; tokens?: number }>;
  setup?: Partial<ConsoleSetupOptions>;
  hearing?: Partial<HearingOptions>;
  /** Settings of `githubApp`, `hooks` and `repositories`, and the environment. */
  githubApp?: { settings?: object; environment?: Record<string, string>; now?(): number };
}

/** The only secret that the test console knows. */
export const secret = "sk-test-0123456789abcdef";
const budgetSettings = settingsSchema.parse({}).budgets;
const shippedSkills = fileURLToPath(new URL("../../../skills", import.meta.url));

export async function startConsole(settings: ConsoleSettings = {}): Promise<TestConsole> {
  const redis = settings.redis ?? (await startRedis());
  const intake = new TestIntake();
  const workspace = new Map<string, string | Buffer>();
  const errors: unknown[] = [];
  const status: ConsoleStatus = {
    model: "demo",
    demo: false,
    sandbox: { ok: true, summary: "bubblewrap 0.8", problems: [] },
    redis: "url",
    adapters: ["local"],
  };
  const { host = "127.0.0.1", port = 0, token } = settings;
  const client = redis.client();
  const queue = openTurnQueue(client);
  const masker = createMasker([secret]);
  const auditFolder = await mkdtemp(join(tmpdir(), "heddle-console-"));
  const files: WorkspaceFiles = {
    list: async () => ({ ok: true, entries: entriesOf(workspace), truncated: false }),
    read: async (_thread, path) => {
      const text = workspace.get(path);
      if (text === undefined) return { ok: false, reason: "not-found", message: `There is no file ${path}.` };
      return { ok: true, data: Buffer.from(text), truncated: text === "too large" };
    },
    async archive(_thread, path) {
      if (workspace.size === 0) return false;
      const folder = await mkdtemp(join(tmpdir(), "heddle-console-files-"));
      for (const [name, text] of workspace) await writeFile(join(folder, name), text);
      await promisify(execFile)("tar", ["-C", folder, "-cf", path, "."]);
      await rm(folder, { recursive: true });
      return true;
    },
    async remove() {
      workspace.clear();
      return true;
    },
  };
  const audited: ThreadAuditEvent[] = [];
  const operations = openOperations({
    ...{ redis: client, server: redis.server, queue },
    budgets: { ...budgetSettings, ...settings.budgets },
    triggerBudgets: () => new Map(Object.entries(settings.triggerBudgets ?? {})),
    approvers: () => "requester",
    skills: createSkillLibrary({ folders: [shippedSkills] }),
    limits: defaultLimits,
    settings: () =>
      settings.configuration ?? { hash: "0", at: 1, restart: [], ignored: [], settings: [], channels: [] },
    ...{ auditFolder, files },
    audit: (event) => void audited.push(event),
    mask: (text) => masker.mask(text),
    now: Date.now,
    onError: (error) => errors.push(error),
  });
  const setUp: SetupAuditEvent[] = [];
  const signedIn: Speaker[] = [];
  const warnings: unknown[] = [];
  const folder = await mkdtemp(join(tmpdir(), "heddle-console-setup-"));
  const setup = openConsoleSetup({
    ...{ env: {}, cwd: folder, isWhole: true, mask: (text) => masker.mask(text) },
    audit: (event) => void setUp.push(event),
    hearing: openHearing({
      ...{ platforms: [], isConnected: () => true, heard: operations.heard },
      findReasons: async () => ({ found: [], unseen: "" }),
      ...{ mask: (text) => masker.mask(text), now: Date.now },
      onProblem: (problem, error) => errors.push(problem, error),
      ...settings.hearing,
    }),
    ...settings.setup,
  });
  const githubApp = openGithubAppSetup({
    config: {
      settings: settingsSchema.parse(settings.githubApp?.settings ?? {}),
      environment: environmentSchema.parse(settings.githubApp?.environment ?? {}),
      dataDir: folder,
    },
    ...{ redis: client, masker, now: settings.githubApp?.now ?? Date.now },
    audit: (event) => void setUp.push(event),
    signal: AbortSignal.timeout(600_000),
  });
  const adapter = createConsoleAdapter({
    redis: client,
    host,
    port,
    ...(token === undefined ? {} : { token }),
    ...(settings.proxies && { proxies: settings.proxies }),
    identity: settings.identity,
    openId: settings.openId,
    onSignIn: ({ id, name }) => void signedIn.push({ id, name }),
    tokens: createAccessTokens(client, Date.now),
    mayUse:
      settings.mayUse ?? createAccess(settingsSchema.parse({ access: settings.access ?? {} }).access).mayUse,
    ...(settings.recheckMs !== undefined && { recheckMs: settings.recheckMs }),
    files,
    operations,
    setup,
    githubApp,
    status: async () => status,
    instance: "the-loom",
    metrics: { contentType: "text/plain", render: async () => "heddle_redis_up 1" },
    hasWorker: async () => (await readPresence(client)).length > 0,
    log: { error: (error: unknown) => errors.push(error), warn: (what: unknown) => warnings.push(what) },
  });
  const release = async () => {
    setup.close();
    await adapter.stop();
    operations.close();
    await queue.close();
    for (const made of [auditFolder, folder]) await rm(made, { recursive: true, force: true });
    if (!settings.redis) await redis.stop();
  };
  try {
    await adapter.start(intake);
  } catch (error) {
    await release();
    throw error;
  }
  const surface = createConsoleSurface({ redis: redis.client() });
  return {
    url: adapter.url,
    redis,
    intake,
    surface,
    workspace,
    ...{ audited, setUp, signedIn, folder },
    status,
    ...{ errors, warnings },
    [Symbol.asyncDispose]: release,
  };
}

function accept(event: InboundEvent): IntakeResult {
  if (event.kind === "message") return { kind: "accepted", thread: threadId(event.thread), position: 1 };
  if (event.kind === "action") return { kind: "acted", thread: threadId(event.thread) };
  if (event.kind !== "stop" || "message" in event.target)
    return { kind: "ignored", why: "the console stops threads only" };
  return { kind: "stopping", thread: threadId(event.target.thread) };
}

function entriesOf(workspace: Map<string, string | Buffer>): FileEntry[] {
  const entries = new Map<string, FileEntry>();
  for (const [path, text] of workspace) {
    const folders = path.split("/").slice(0, -1);
    for (const depth of folders.keys()) {
      const folder = folders.slice(0, depth + 1).join("/");
      entries.set(folder, { path: folder, type: "directory", bytes: 0 });
    }
    entries.set(path, { path, type: "file", bytes: Buffer.byteLength(text) });
  }
  return [...entries.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1));
}
