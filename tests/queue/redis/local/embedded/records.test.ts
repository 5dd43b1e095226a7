import { mkdtemp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { ClientSession, RedisServerState } from "js-redis-server/core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { wholeValue } from "../../../../../src/queue/redis/local/embedded/effects.ts";
import { createRecordingExecutor } from "../../../../../src/queue/redis/local/embedded/executor.ts";
import { compact, readStore } from "../../../../../src/queue/redis/local/embedded/files.ts";
import { openLog } from "../../../../../src/queue/redis/local/embedded/log.ts";
import { applyEffect, type Store } from "../../../../../src/queue/redis/local/embedded/store.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "heddle-records-"));
});
// A run that is interrupted for its time may still be writing.
afterEach(() => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));

const key = fc.constantFrom("a", "b", "c");
const word = fc.constantFrom("x", "y", "z", "ø🛑", "1", "2.5", "");
const words = fc.array(word, { minLength: 1, maxLength: 4 });
const number = fc.integer({ min: -3, max: 3 }).map(String);
const score = fc.oneof(number, fc.constantFrom("-inf", "+inf", "0.1"));
/** Gone at once, or later than this test. */
const ttl = fc.constantFrom("1", "100000");
const side = fc.constantFrom("LEFT", "RIGHT");
type Command = string[];
const command = (name: string, ...args: fc.Arbitrary<string | string[]>[]): fc.Arbitrary<Command> =>
  fc.tuple(...args).map((given) => [...name.split(" "), ...given.flat()]);
const fixed = (...text: string[]) => fc.constant(text);

/** All kinds of writes that Heddle and BullMQ make, and some more. */
const single: fc.Arbitrary<Command> = fc.oneof(
  command("SET", key, word),
  command("SET", key, word, fc.constantFrom(["NX"], ["XX"], ["KEEPTTL"], ["GET"])),
  command("SET", key, word, fixed("PX"), ttl),
  command("MSET", key, word, key, word),
  command("APPEND", key, word),
  command("INCRBY", key, number),
  command("INCRBYFLOAT", key, number),
  command("GETDEL", key),
  command("DEL", key, key),
  command("UNLINK", key),
  command("PEXPIRE", key, ttl),
  command("EXPIRE", key, fc.constantFrom("-1", "100")),
  command("PERSIST", key),
  command("RENAME", key, key),
  command("COPY", key, key, fixed("REPLACE")),
  command("HSET", key, word, word, word, word),
  command("HSETNX", key, word, word),
  command("HDEL", key, words),
  command("HINCRBY", key, word, number),
  command("HINCRBYFLOAT", key, word, number),
  command("RPUSH", key, words),
  command("LPUSH", key, words),
  command("LPUSHX", key, words),
  command("LPOP", key),
  command("RPOP", key, fc.constantFrom("1", "2", "9")),
  command("LPOP", key, fc.constantFrom("0", "2", "9")),
  command("LSET", key, number, word),
  command("LREM", key, number, word),
  command("LTRIM", key, number, number),
  command("LINSERT", key, fc.constantFrom("BEFORE", "AFTER"), word, word),
  command("RPOPLPUSH", key, key),
  command("LMOVE", key, key, side, side),
  command("SADD", key, words),
  command("SREM", key, words),
  command("SPOP", key),
  command("SMOVE", key, key, word),
  command("SUNIONSTORE", key, key, key),
  command("ZADD", key, score, word, score, word),
  command("ZADD", key, fc.constantFrom("NX", "XX", "GT", "LT", "INCR"), score, word),
  command("ZINCRBY", key, number, word),
  command("ZREM", key, words),
  command("ZPOPMIN", key),
  command("ZREMRANGEBYSCORE", key, number, number),
  command("ZREMRANGEBYRANK", key, number, number),
  command("ZRANGESTORE", key, key, fixed("0", "1")),
  command("ZUNIONSTORE", key, fixed("2"), key, key),
  command("XADD", key, fixed("*"), word, word),
  command("XADD", key, fixed("MAXLEN", "2", "*"), word, word),
  command("XTRIM", key, fixed("MAXLEN"), fc.constantFrom("0", "1")),
  command("XADD", key, fc.constantFrom("7-1", "9-0"), word, word),
  command("XDEL", key, fc.constantFrom("7-1", "9-0")),
  command("GET", key),
  fixed("FLUSHDB"),
);

/** Takes what the clock and chance say, and ends in an error if its last command does. */
const script = `
  redis.call("SET", "c", redis.call("TIME")[2] .. tostring(math.random()))
  for i = 3, #ARGV, 2 do redis.pcall("RPUSH", KEYS[1], ARGV[i]) end
  redis.pcall("HSET", KEYS[1], "f", ARGV[2])
  return redis.call(unpack(cjson.decode(ARGV[1])))`;
const scripted: fc.Arbitrary<Command> = fc
  .tuple(single, key, words)
  .map(([inner, on, values]) => ["EVAL", script, "1", on, JSON.stringify(inner), ...values]);
const action: fc.Arbitrary<Command[]> = fc.oneof(
  { weight: 8, arbitrary: single.map((one) => [one]) },
  { weight: 2, arbitrary: scripted.map((one) => [one]) },
  {
    weight: 2,
    arbitrary: fc
      .array(fc.oneof(single, scripted), { minLength: 1, maxLength: 4 })
      .map((queued) => [["MULTI"], ...queued, ["EXEC"]]),
  },
);

/** What the server holds, without what has expired by then. */
function stateOf(state: RedisServerState): Store {
  const store: Store = new Map();
  for (const entry of state.getDatabase(0).entriesSnapshot()) applyEffect(store, wholeValue(entry));
  return store;
}

/** At one moment: what lasts a millisecond may end between two looks. */
function expectAlive(found: Store, expected: Store | undefined): void {
  const now = Date.now();
  const alive = (store: Store) =>
    new Map([...store].filter(([, { expiresAt }]) => expiresAt === undefined || expiresAt > now));
  expect(alive(found)).toEqual(alive(expected ?? new Map()));
}

/** Executes the commands as one client would; returns what held after each record, by the file's size then. */
async function run(commands: Command[], into: string): Promise<{ file: string; states: Map<number, Store> }> {
  const state = new RedisServerState({
    databaseCount: 1,
    compatibility: "valkey-8.0",
    activeExpiryIntervalMs: false,
  });
  const log = openLog(into, 0);
  const states = new Map<number, Store>([[log.bytes(), new Map()]]);
  const session = new ClientSession({ server: state, executor: createRecordingExecutor(state, log) });
  for (const [name = "", ...args] of commands) {
    const before = log.bytes();
    await session.execute(
      Buffer.from(name),
      args.map((arg) => Buffer.from(arg)),
    );
    // As somebody sees it who has just been answered.
    if (log.bytes() > before) states.set(log.bytes(), stateOf(state));
    else expectAlive(stateOf(state), states.get(before));
  }
  session.close();
  log.close();
  state.close();
  return { file: join(into, "1.log"), states };
}

test("whatever is executed, and wherever the file is cut off, reading it again gives what was answered by then", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(action, { minLength: 1, maxLength: 25 }).map((actions) => actions.flat()),
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 3, maxLength: 3 }),
      async (commands, cuts) => {
        const own = mkdtempSync(join(folder, "run-"));
        const { file, states } = await run(commands, own);
        const ends = [...states.keys()];
        const size = ends.at(-1) ?? 0;
        const copy = join(own, "cut");
        for (const cut of [size, ...cuts.map((share) => Math.floor(share * size))]) {
          mkdirSync(copy, { recursive: true });
          copyFileSync(file, join(copy, "1.log"));
          await truncate(join(copy, "1.log"), cut);
          const whole = ends.findLast((each) => each <= cut);
          const read = readStore(copy);
          expect(read.end).toBe(whole ?? 0);
          expectAlive(read.store, states.get(whole ?? 0));
        }
        // And so does the one file that replaces the log.
        const { store } = readStore(own);
        const log = openLog(own, size);
        log.rotate();
        log.close();
        compact(own, 2);
        rmSync(file);
        expect(readStore(own).store).toEqual(store);
      },
    ),
    // A disk that syncs slowly makes it fewer runs instead of a failure.
    process.env["HEDDLE_FAULTS"] ? { numRuns: 2_000 } : { numRuns: 40, interruptAfterTimeLimit: 10_000 },
  );
});

test("garbage after the last record, as a power loss may leave, is dropped; within the records it is refused", async () => {
  const { file, states } = await run(
    [
      ["SET", "a", "1"],
      ["SET", "b", "2"],
    ],
    folder,
  );
  const whole = await readFile(file);
  await writeFile(file, Buffer.concat([whole, Buffer.alloc(300), Buffer.from("\n[]\n")]));
  const { store, torn, end } = readStore(folder);
  expect({ size: store.size, torn, end }).toEqual({ size: 2, torn: 304, end: whole.length });
  whole[[...states.keys()][0] ?? 0] = 0;
  await writeFile(file, whole);
  expect(() => readStore(folder)).toThrow(
    /1\.log is damaged at byte 24: restore it, or move its folder away/,
  );
});
