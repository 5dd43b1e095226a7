import { createServer, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { startFakeAnthropic } from "../../fakes/anthropic.ts";
import { freePort } from "../../fakes/free-port.ts";
import { hasRedisServer, noRedisServer, redisServers, type Servers } from "../../fakes/redis-servers.ts";
import { modelEnvironment } from "../environment.ts";
import { usePlace } from "../hooks.ts";
import { examine, type Program } from "../program.ts";
import { listen } from "../../fakes/listen.ts";

const here = usePlace();

/** One of those that ask Redis and print, and one of those that need all that a process that serves does. */
const commands = [
  ["threads", "list"],
  ["run", "hello"],
];

/** What a server answers to every command; undefined: nothing, ever. */
async function serve(reply: string | undefined): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("data", (data) => {
      if (reply === undefined) return;
      // An array for each command, which begins so at the start of a line.
      const asked = data.toString().match(/^\*\d+\r$/gm)?.length ?? 0;
      socket.write(`-${reply}\r\n`.repeat(asked));
    });
  });
  const port = await listen(server);
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `redis://127.0.0.1:${port}`;
}

const states: [state: string, url: () => Promise<string>][] = [
  ["is not there", async () => `redis://127.0.0.1:${await freePort()}`],
  ["takes connections and answers nothing", () => serve(undefined)],
  ["loads its data", () => serve("LOADING Redis is loading the dataset in memory")],
  [
    "is a replica without its primary",
    () => serve("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."),
  ],
  ["wants a password", () => serve("NOAUTH Authentication required.")],
];

/** Resolves when it has ended with one sentence about Redis and no stack. */
async function refusalOf(program: Program): Promise<void> {
  expect(await program.ended).toBe(1);
  // Of the wait it may have said something in the log.
  const said = program
    .output()
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("{"));
  expect(said).toEqual([expect.stringMatching(/^heddle: Redis .*\.$/)]);
}

test.each(states)(
  "With a Redis that %s a command ends with one sentence and no stack",
  async (_state, url) => {
    const env = { REDIS_URL: await url() };
    for (const program of commands.map((args) => here.place.start(args, env))) await refusalOf(program);
  },
);

describe("While Redis takes connections and answers nothing", () => {
  test("a model without its key is told before Redis is asked at all", async () => {
    const env = { REDIS_URL: await serve(undefined), HEDDLE_MODEL: "openai/gpt-5" };
    const program = here.place.start(["start"], env);
    expect(await program.ended).toBe(78);
    expect(program.output()).toMatch(/^heddle: .* needs OPENAI_API_KEY/m);
    expect(program.output()).not.toContain("Redis");
  });

  test("a key that the model's service refuses is told without waiting for Redis", async () => {
    const model = await startFakeAnthropic({ replies: [] });
    onTestFinished(() => model.close());
    const program = here.place.start(["start"], {
      ...modelEnvironment({ ...model, apiKey: "another-key" }),
      REDIS_URL: await serve(undefined),
    });
    expect(await program.ended).toBe(78);
    expect(program.output()).toMatch(/^heddle: .*key/m);
    expect(program.output()).not.toContain("Redis is not usable");
  });

  test("a start that is called off ends at once", async () => {
    const program = here.place.start(["start"], { REDIS_URL: await serve(undefined), HEDDLE_MODEL: "demo" });
    await program.line(/Redis does not answer yet .*waiting for up to 10 s/);
    const askedAt = performance.now();
    program.signal("SIGTERM");
    await program.ended;
    expect(program.output()).not.toContain("is not usable");
    // It has some nine seconds left to wait.
    expect(performance.now() - askedAt).toBeLessThan(5_000);
  });
});

describe("With a Redis that is full", () => {
  let servers: Servers;
  beforeEach(async (context) => {
    context.skip(!hasRedisServer, noRedisServer);
    servers = await redisServers();
  });
  afterEach(() => servers?.stop());

  test("commands that write end with one sentence, and doctor says what is full", async () => {
    const redis = await servers.start();
    const env = { REDIS_URL: `redis://127.0.0.1:${redis.port}`, HEDDLE_MODEL: "demo" };
    expect(await here.place.start(["run", "hello"], env).ended).toBe(0);
    await redis.client.config("SET", "maxmemory", "1");
    for (const args of [
      ["run", "hello"],
      ["audit", "verify"],
      ["tokens", "create", "ada"],
    ])
      await refusalOf(here.place.start(args, env));
    const doctor = await examine(() => here.place.start(["doctor"], env));
    expect(doctor.output()).toMatch(
      /redis +nearly full: [\d.]+ MiB used, of 0\.0 MiB; 1 session; largest journal/,
    );
    expect(doctor.output()).toMatch(/✗ redis +The audit log cannot be written, .* Redis is out of memory/);
  });
});

describe("With a cluster that has lost its primaries", () => {
  let servers: Servers;
  beforeEach(async (context) => {
    context.skip(!hasRedisServer, noRedisServer);
    servers = await redisServers();
  });
  afterEach(() => servers?.stop());

  test("commands end with one sentence, also in the middle of a task, and who serves is not ready and ends within seconds", {
    timeout: 300_000,
  }, async () => {
    const cluster = await servers.smallCluster();
    const env = { REDIS_URL: cluster.url, HEDDLE_MODEL: "demo" };
    const serving = here.place.start(["start"], env);
    const console = /http:\/\/[\w.:]+/.exec(await serving.line(/^ {2}console/))?.[0];
    const working = here.place.start(["run", "--json", "sleep 600"], env);
    await working.line(/"type":"tool-start"/);
    await cluster.lose();

    for (const program of commands.map((args) => here.place.start(args, env))) await refusalOf(program);
    expect(await working.ended).toBe(1);
    // It has waited for 60 s, or a cluster's node has refused a command before.
    expect(working.output()).toMatch(
      /^heddle: Redis (has not answered for 60 s|does not serve: CLUSTERDOWN .*)\. The task is kept there/m,
    );
    const probe = await fetch(`${console}/readyz`);
    expect([probe.status, await probe.json()]).toEqual([
      503,
      { error: expect.stringContaining("Redis does not answer") },
    ]);
    const askedAt = performance.now();
    serving.signal("SIGTERM");
    expect(await serving.ended).toBe(0);
    // Four by its promise; a busy machine takes longer. A command waits a minute for a primary.
    expect(performance.now() - askedAt).toBeLessThan(20_000);
  });
});
