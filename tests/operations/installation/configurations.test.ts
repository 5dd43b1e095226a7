import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  findConfigurationProblems,
  readConfigurations,
} from "../../../src/operations/installation/configurations.ts";
import { startPresence } from "../../../src/queue/turns/worker-presence.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

const onError = (error: unknown) => {
  throw error;
};

describe("What operators see of the configuration of processes", () => {
  test("each process tells its own until it ends, and says anew at once what has changed", async () => {
    const client = redis.client();
    const state = { hash: "aaa", at: 1, restart: [] as string[] };
    const describeAs = (pid: number, role: string) => () => ({ v: 1, host: "h", pid, role, ...state });
    const list = "processes" as const;
    const gateway = await startPresence({ redis: client, list, onError, describe: describeAs(1, "gateway") });
    const worker = await startPresence({ redis: client, list, onError, describe: describeAs(2, "worker") });
    expect(findConfigurationProblems(await readConfigurations(client))).toEqual([]);

    Object.assign(state, { hash: "bbb", at: 2, restart: ["queue"] });
    await worker.tell();
    const reports = await readConfigurations(client);
    expect(reports.map(({ pid, hash }) => [pid, hash])).toEqual([
      [1, "aaa"],
      [2, "bbb"],
    ]);
    expect(findConfigurationProblems(reports)).toEqual([
      "The worker with process id 2 on h needs a restart for changes of queue.",
      "The processes have different configurations: aaa in the gateway 1 on h, bbb in the worker 2 on h.",
    ]);
    await worker.close();
    expect((await readConfigurations(client)).map(({ pid }) => pid)).toEqual([1]);
    await gateway.close();
  });

  test("a process that refuses a change is named with the reason", () => {
    const refused = {
      host: "h",
      pid: 1,
      role: "gateway",
      hash: "a",
      at: 1,
      restart: [],
      problem: "It is wrong.",
    };
    expect(findConfigurationProblems([refused])).toEqual([
      "The gateway with process id 1 on h refuses the changed configuration and keeps the one it has: It is wrong.",
    ]);
  });
});
