import { createHmac } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createConsoleSurface } from "../../src/adapters/console/conversations/surface.ts";
import { triggersSchema } from "../../src/config/triggers.ts";
import { findQuietEnd } from "../../src/hooks/quiet-hours.ts";
import { createHeldRelease } from "../../src/hooks/receive-event.ts";
import { type HookOptions, type Hooks, openHooks } from "../../src/hooks/server.ts";
import { createRateLimiter } from "../../src/queue/outbox/rate-limit.ts";
import { RedisUnavailable } from "../../src/queue/redis/unavailable.ts";
import { claimSession } from "../../src/queue/session/claim.ts";
import { readMailbox } from "../../src/queue/session/mailbox/mailbox.ts";
import { orderStop } from "../../src/queue/turns/stops.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
const open: Hooks[] = [];
afterEach(async () => {
  for (const hooks of open.splice(0)) await hooks.close();
  await server.client().flushall();
});
afterAll(() => server.stop());

const secret = "a-secret-of-the-sender";
const { t: trigger } = triggersSchema.parse({
  t: {
    ...{ verify: "github", secretVariable: "SECRET", prompt: "Look at {{number}}.", threadKey: "{{number}}" },
    ...{ channel: "local:console:main", onBehalfOf: { id: "U1", name: "Ada" } },
    quietHours: { from: "22:00", to: "07:00", timeZone: "Europe/Berlin" },
  },
});
if (!trigger) throw new Error("no trigger");

/** Winter: 23:30 in Berlin. */
const night = Date.parse("2026-11-23T22:30:00Z");
const morning = Date.parse("2026-11-24T06:00:00Z");

const optionsAt = (now: () => number, more: Partial<HookOptions> = {}): HookOptions => {
  const redis = server.client();
  return {
    ...{ host: "127.0.0.1", port: 0, redis, now },
    triggers: new Map([["t", { ...trigger, secret }]]),
    queue: { wake: async () => {} },
    output: createRateLimiter(redis),
    surface: () => createConsoleSurface({ redis }),
    mayAsk: async () => ({ allowed: true }),
    confirm: (work) => work,
    onProblem() {},
    ...more,
  };
};

async function gateway(options: HookOptions) {
  const hooks = await openHooks(options);
  open.push(hooks);
  return async (number: number, delivery: string) => {
    const body = JSON.stringify({ number });
    const signature = createHmac("sha256", secret).update(body).digest("hex");
    const headers = { "x-hub-signature-256": `sha256=${signature}`, "x-github-delivery": delivery };
    const response = await fetch(`http://127.0.0.1:${hooks.port}/hooks/t`, { method: "POST", headers, body });
    return { status: response.status, ...JSON.parse(await response.text()) };
  };
}

const listMessages = async () => {
  const mailboxes = await server.client().keys("heddle:{local:console:main:*}:mail");
  const threads = mailboxes.map((key) => /\{(.*)\}/.exec(key)?.[1] ?? "");
  return (await Promise.all(threads.map((thread) => readMailbox(server.client(), thread)))).flat();
};

test.each([
  ["22:00", "07:00", "UTC", "2026-11-23T21:59:59Z", undefined],
  ["22:00", "07:00", "UTC", "2026-11-23T22:00:30Z", "2026-11-24T07:00:00Z"],
  ["22:00", "07:00", "UTC", "2026-11-24T06:59:59Z", "2026-11-24T07:00:00Z"],
  ["22:00", "07:00", "UTC", "2026-11-24T07:00:00Z", undefined],
  ["12:00", "13:30", "UTC", "2026-11-24T12:10:00Z", "2026-11-24T13:30:00Z"],
  ["12:00", "13:30", "UTC", "2026-11-24T00:10:00Z", undefined],
  ["22:00", "07:00", "Europe/Berlin", "2026-07-01T20:10:00Z", "2026-07-02T05:00:00Z"],
  // The clock is put forward, and back, in that night.
  ["22:00", "07:00", "Europe/Berlin", "2026-03-28T22:00:00Z", "2026-03-29T05:00:00Z"],
  ["22:00", "07:00", "Europe/Berlin", "2026-10-24T21:00:00Z", "2026-10-25T06:00:00Z"],
  ["22:00", "02:30", "Europe/Berlin", "2026-03-28T22:00:00Z", "2026-03-29T01:30:00Z"],
  ["22:00", "02:30", "Europe/Berlin", "2026-10-24T21:00:00Z", "2026-10-25T00:30:00Z"],
])("from %s to %s in %s: %s is quiet until %s", (from, to, timeZone, at, until) => {
  const end = findQuietEnd({ from, to, timeZone }, Date.parse(at));
  expect(end).toBe(until === undefined ? undefined : Date.parse(until));
});

test("what comes in quiet hours is stored before its 2xx, and a gateway that starts after them gives it to its thread", async () => {
  const post = await gateway(optionsAt(() => night));
  expect(await post(7, "a")).toMatchObject({
    ...{ status: 200, result: "held", until: "2026-11-24T06:00:00.000Z" },
  });
  expect(await post(7, "a")).toMatchObject({ status: 202, result: "held" });
  expect(await listMessages()).toEqual([]);
  expect(await server.client().zcard("heddle:local:threads")).toBe(0);

  const woken = Promise.withResolvers<string>();
  const queue = { wake: async (thread: string) => woken.resolve(thread) };
  const again = await gateway(optionsAt(() => morning, { queue }));
  const [message] = await readMailbox(server.client(), await woken.promise);
  expect(message).toMatchObject({ author: { id: "U1" }, scheduled: true, trigger: "t", at: morning });
  expect(message?.text).toContain("It came at 2026-11-23 22:30 UTC, in quiet hours.)\n\nLook at 7.");
  expect(await again(7, "a")).toMatchObject({ status: 202, result: "duplicate" });
  expect(await listMessages()).toHaveLength(1);
});

test("what is held when the operator takes quiet hours out of the settings goes to its thread at once", async () => {
  const post = await gateway(optionsAt(() => night));
  expect((await post(7, "a")).result).toBe("held");
  const { quietHours: _, ...always } = trigger;
  await gateway(optionsAt(() => night, { triggers: new Map([["t", { ...always, secret }]]) }));
  await expect.poll(listMessages).toHaveLength(1);
  expect(await server.client().exists("heddle:{hook:t}:held")).toBe(0);
});

test("a stop at night ends nothing of what is held for that thread until the morning", async () => {
  const evening = await gateway(optionsAt(() => night - 2 * 3_600_000));
  const { thread } = await evening(7, "a");
  const post = await gateway(optionsAt(() => night));
  expect((await post(7, "b")).result).toBe("held");
  expect(await orderStop(server.client(), thread, { by: "Ada", at: night + 600_000 })).toBe("ordered");
  await createHeldRelease(optionsAt(() => morning))("t", trigger);
  const { taken, withdrawn } = await (await claimSession(server.client(), thread)).take();
  expect(withdrawn.map(({ text }) => text)).toEqual([expect.not.stringContaining("quiet hours")]);
  expect(taken.map(({ text }) => text)).toEqual([expect.stringContaining("in quiet hours")]);
});

test("a death in the release, and two gateways that release at once, leave one message for each event", async () => {
  const post = await gateway(optionsAt(() => night));
  for (const delivery of ["a", "b"]) expect((await post(7, delivery)).result).toBe("held");
  const dying = createHeldRelease(
    optionsAt(() => morning, {
      queue: {
        async wake() {
          throw new Error("The process dies after the delivery.");
        },
      },
    }),
  );
  await expect(dying("t", trigger)).rejects.toThrow("dies");
  const release = createHeldRelease(optionsAt(() => morning));
  await Promise.all([release("t", trigger), release("t", trigger)]);
  expect((await listMessages()).map(({ id }) => id)).toHaveLength(2);
  expect(await server.client().zcard("heddle:local:threads")).toBe(1);
  expect(await server.client().exists("heddle:{hook:t}:held")).toBe(0);
});

test("an event stays held until what its release has written is known to stay", async () => {
  const post = await gateway(optionsAt(() => night));
  expect((await post(7, "a")).result).toBe("held");
  const unsure = createHeldRelease(
    optionsAt(() => morning, {
      async confirm(work) {
        await work;
        throw new Error("The primary does not answer.");
      },
    }),
  );
  await expect(unsure("t", trigger)).rejects.toThrow("does not answer");
  expect(await server.client().hlen("heddle:{hook:t}:held")).toBe(1);
  await createHeldRelease(optionsAt(() => morning))("t", trigger);
  expect(await listMessages()).toHaveLength(1);
  expect(await server.client().hlen("heddle:{hook:t}:held")).toBe(0);
});

test("whoever may no longer ask when quiet hours end is not acted for", async () => {
  const post = await gateway(optionsAt(() => night));
  expect((await post(7, "a")).result).toBe("held");
  const problems: string[] = [];
  const options = optionsAt(() => morning, {
    mayAsk: async () => ({ allowed: false, why: "Ada has left." }),
    onProblem: (problem) => problems.push(problem),
  });
  await createHeldRelease(options)("t", trigger);
  expect(problems).toEqual(["An event of the trigger t was refused. Ada has left."]);
  expect(await listMessages()).toEqual([]);
  expect(await server.client().exists("heddle:{hook:t}:held")).toBe(0);
});

test.each([
  ["taken", morning, "heddle:{local:console:main:"],
  ["held", night, "hook:t"],
])(
  "an event is %s once replicas have it, where the operator wants that, and else sent again",
  async (result, at, where) => {
    let places: (string | undefined)[] = [];
    let isReached = false;
    const replicate = async () => async (place: string | undefined) => {
      places.push(place);
      if (!isReached) throw new RedisUnavailable("A failover could lose it.");
    };
    const post = await gateway(optionsAt(() => at, { replicate }));
    expect(await post(7, "a")).toMatchObject({ status: 503 });
    isReached = true;
    expect(await post(7, "a")).toMatchObject({
      status: 202,
      result: result === "held" ? "held" : "duplicate",
    });
    expect(places).toEqual(Array(2).fill(expect.stringContaining(where.replace("heddle:{", ""))));
    places = [];
    await createHeldRelease(optionsAt(() => morning, { replicate }))("t", trigger);
    expect(places).toHaveLength(result === "held" ? 1 : 0);
  },
);
