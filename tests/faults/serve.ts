import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSandboxBackend } from "../../src/app/sandbox.ts";
import { threadId, type ThreadId } from "../../src/chat/threads.ts";
import { loadConfig } from "../../src/config/load.ts";
import { listDescendants } from "../../src/sandbox/thread/processes.ts";
import { modelEnvironment, pathWithoutRedis, slackEnvironment } from "../e2e/environment.ts";
import { newPlace, patienceMs, type Program } from "../e2e/program.ts";
import type { MessagesBody } from "../fakes/anthropic-rules.ts";
import { type FakeModelServer, type FakeReply, startFakeAnthropic } from "../fakes/anthropic.ts";
import { type FakeSlack, startFakeSlack } from "../fakes/slack/fake-slack.ts";
import type { FakeChannel, FakeMessage } from "../fakes/slack/workspace.ts";
import { reachEmbedded, type RedisProcess, startRedisProcess } from "./redis-process.ts";
import { askFirst, callLog, replyTo } from "./tasks.ts";

type Role = "all" | "gateway" | "worker";

/** A Slack, a model service and a Redis, for real processes of the program that may be killed at any moment. */
export interface TestDeployment {
  readonly slack: FakeSlack;
  readonly model: FakeModelServer;
  readonly redis: RedisProcess;
  /**
   * Starts a process and waits until it is ready. @param fault see src/queue/redis/failpoint.ts @param version the folder of
   * another version of this repository
   */
  start(role: Role, fault?: string, version?: string): Promise<Program>;
  /** Starts a process that reaches Redis by this address, or as on another host. */
  startAt(role: Role, how: { redisUrl?: string; elsewhere?: boolean }): Promise<Program>;
  /** Runs another command of the program beside them. */
  run(args: string[]): Program;
  /** The thread that begins with this message. */
  threadOf(message: FakeMessage): ThreadId;
  /** The lines that tool calls have written in a thread's workspace, each one its own or into another file. */
  linesOf(thread: ThreadId, file?: string): Promise<string[]>;
  /** What the processes printed. */
  outputs(): string;
  clean(): Promise<void>;
}

interface TestDeploymentOptions {
  /** After which a silent worker is killed; by default later than any test freezes one. */
  hangSeconds?: number;
  /** After which another worker goes on; by default short, for tests that wait for it. */
  lockSeconds?: number;
  /** How long an interrupted turn waits for a gateway. */
  catchUpSeconds?: number;
  /** After which a worker without Redis ends its commands. */
  fenceSeconds?: number;
  /** Turns at once in a worker. */
  concurrency?: number;
  /** Replicas that must have a message before it is acknowledged. */
  waitForReplicas?: number;
  /** After which Slack sends an event again; by default soon, for tests that wait for it. */
  ackTimeoutMs?: number;
  /** By default one of its own, a single server. The deployment stops it. `embedded`: the one inside the program. */
  redis?: RedisProcess | "embedded";
  /** More of `heddle.yaml`. */
  settings?: (slack: FakeSlack) => string;
  /** More for the processes' environment. */
  variables?: Record<string, string>;
  /** What the model answers instead of what the tasks ask for. */
  replies?: (body: MessagesBody) => FakeReply;
}

/** For programs that a test starts, ends and kills. */
export async function deployForTest({
  hangSeconds = 10,
  lockSeconds = 2,
  fenceSeconds,
  concurrency = 50,
  catchUpSeconds,
  waitForReplicas,
  ackTimeoutMs = 1_000,
  redis: given,
  settings,
  variables = {},
  replies = replyTo,
}: TestDeploymentOptions = {}): Promise<TestDeployment> {
  const folder = await mkdtemp(join(tmpdir(), "hf-"));
  // Users of sandboxes must be able to walk to their workspaces.
  await chmod(folder, 0o755);
  const config = join(folder, "heddle.yaml");
  // Short enough for a suite that waits for time-outs again and again; long enough for a busy machine. What is not asked
  // for is left out: an earlier version may not know it.
  const times = { lockSeconds, fenceSeconds, sweepSeconds: 1, hangSeconds, catchUpSeconds };
  const queue = { ...times, concurrency, waitForReplicas };
  // Never used up: only so that model calls are reserved and settled.
  const budgets = "budgets: { day: { cost: 1000 } }";
  // A task may be long enough for a snapshot of its journal.
  const agent = "agent: { maxSteps: 200 }";
  const tools = `tools: { rules: [{ tool: bash, command: "true ${askFirst}", action: ask, why: It is asked. }] }`;
  const dataDir = join(folder, "data");
  const isEmbedded = given === "embedded";
  const [place, slack, model, redis] = await Promise.all([
    newPlace(),
    startFakeSlack({ ackTimeoutMs, patienceMs }),
    startFakeAnthropic({ replies }),
    isEmbedded ? reachEmbedded(dataDir) : (given ?? startRedisProcess(folder)),
  ]);
  const more = settings?.(slack) ?? "";
  await writeFile(config, [`queue: ${JSON.stringify(queue)}`, budgets, agent, tools, more].join("\n"));
  const environment = {
    NODE_ENV: "test",
    ...(isEmbedded ? { PATH: await pathWithoutRedis(folder) } : { REDIS_URL: redis.path }),
    ...slackEnvironment(slack),
    ...modelEnvironment(model),
    HEDDLE_CONFIG: config,
    HEDDLE_DATA_DIR: dataDir,
    HEDDLE_LOG_LEVEL: "warn",
    ...variables,
  };
  const workspaces = openSandboxBackend(loadConfig({ HEDDLE_DATA_DIR: dataDir }, folder));
  return {
    slack,
    model,
    redis,
    async start(role, fault, version) {
      const armed = { ...environment, ...(fault && { HEDDLE_FAULT: fault }) };
      const program = place.start(["start", "--role", role], armed, version);
      await program.line(/Heddle is ready/);
      return program;
    },
    async startAt(role, { redisUrl, elsewhere = false }) {
      const env = { ...environment, ...(redisUrl && { REDIS_URL: redisUrl }) };
      const args = ["start", "--role", role];
      const program = elsewhere ? place.startElsewhere(args, env) : place.start(args, env);
      await program.line(/Heddle is ready/);
      return program;
    },
    run: (args) => place.start(args, environment),
    threadOf: ({ channel, ts }) =>
      threadId({ platform: "slack", workspace: slack.teamId, channel: channel.id, thread: ts }),
    async linesOf(thread, file = callLog) {
      const read = await (await workspaces.open(thread)).readFile(file);
      if (!read.ok && read.reason !== "not-found") throw new Error(`${thread}, ${file}: ${read.message}`);
      return read.ok ? read.data.toString().split("\n").filter(Boolean) : [];
    },
    outputs: place.outputs,
    async clean() {
      await place.clean();
      await workspaces.close();
      await Promise.all([slack.close(), model.close(), redis.stop()]);
      // A sandbox that ends with its worker may still be writing.
      await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
}

/** The process that does the work: a worker is watched by another, which is the one that was started. */
export function workingPid({ pid }: Program): number {
  return listDescendants(pid)[0]?.pid ?? pid;
}

/** Messages of the bot in a thread, as people see them now. */
export function botMessages(slack: FakeSlack, channel: FakeChannel, thread: string): FakeMessage[] {
  return channel.messages.filter(({ user, threadTs }) => user === slack.bot && threadTs === thread);
}
