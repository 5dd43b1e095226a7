import { createServer } from "node:net";
import { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { explainRefusal } from "../../../src/queue/redis/unavailable.ts";
import { listen } from "../../fakes/listen.ts";

/** What a client is told by a server that answers everything so. */
async function errorOf(reply: string): Promise<unknown> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", () => socket.write(`-${reply}\r\n`));
  });
  const port = await listen(server);
  const client = new Redis({ port: port, enableReadyCheck: false, disableClientInfo: true });
  // The handshake is refused as well.
  client.on("error", () => undefined);
  onTestFinished(() => {
    client.disconnect();
    server.close();
  });
  return client.get("a").catch((error: unknown) => error);
}

test.each([
  "LOADING Redis is loading the dataset in memory",
  "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
  "CLUSTERDOWN The cluster is down",
  "READONLY You can't write against a read only replica.",
  "NOAUTH Authentication required.",
  "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
])("A command that ends by %s ends with one sentence", async (reply) => {
  const sentence = explainRefusal(await errorOf(reply));
  expect(sentence).toBe(
    `Redis does not serve: ${reply.replace(/\.$/, "")}. Look at the state of its servers and at REDIS_URL, then try again.`,
  );
});

test("A command, and a transaction that is discarded for one, end by what to do about a Redis that is full", async () => {
  const oom = await errorOf("OOM command not allowed when used memory > 'maxmemory'.");
  expect(explainRefusal(oom)).toMatch(/^Redis is out of memory .* raise its maxmemory/);
  const discarded = Object.assign(new Error("EXECABORT Transaction discarded because of previous errors."), {
    ...{ name: "ReplyError", previousErrors: [oom, oom] },
  });
  expect(explainRefusal(discarded)).toBe(explainRefusal(oom));
  discarded.previousErrors = [
    await errorOf("MISCONF Errors writing to the AOF file: No space left on device"),
  ];
  expect(explainRefusal(discarded)).toMatch(/^Redis does not serve: MISCONF Errors writing to the AOF file/);
});

test("A command of a script is refused by the same sentence, whichever script that is", () => {
  const [first, second] = [
    "d96ca626f1ea141b44a856b312fc636d99aa9ea9, on @user_script:217",
    "8640abdd8a134cadc9447f9c718058f8e87ce063, on @user_script:40",
  ].map((place) => {
    const error = new Error(
      `MISCONF Errors writing to the AOF file: No space left on device script: ${place}.`,
    );
    error.name = "ReplyError";
    return explainRefusal(error);
  });
  expect(first).toMatch(/: MISCONF Errors writing to the AOF file: No space left on device\. Look at/);
  expect(second).toBe(first);
});

test("A cluster without a primary is named by its last answer, and no wrapping", () => {
  const error = new Error(
    "Too many Cluster redirections. Last error: ReplyError: CLUSTERDOWN The cluster is down",
  );
  expect(explainRefusal(error)).toMatch(/^Redis does not serve: CLUSTERDOWN The cluster is down\. Look/);
});

test("What a script did wrong is no refusal: it keeps its stack", async () => {
  expect(explainRefusal(await errorOf("ERR wrong number of arguments for 'get' command"))).toBeUndefined();
  expect(explainRefusal(new TypeError("x is not a function"))).toBeUndefined();
});
