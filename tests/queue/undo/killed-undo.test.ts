import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { keys } from "../../../src/queue/redis/keys.ts";
import { bounded } from "../../faults/extent.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";
import { openUndoHost } from "./undo-host.ts";

/**
 * A worker is killed with SIGKILL between every two steps of an undo, and of taking it back: another one then brings the
 * thread to where it was to go. Workspace and conversation are compared as hashes of all that is in them.
 */
let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

type Host = Awaited<ReturnType<typeof openUndoHost>>;

async function open(options?: Parameters<typeof openUndoHost>[1]): Promise<Host> {
  const host = await openUndoHost(server, options);
  closers.push(() => host.close());
  return host;
}

const bash = (command: string) => ({ calls: [{ name: "bash", input: { command } }] });

/** Content, modes, links, odd names, folders without files, and what no checkpoint keeps in one piece. */
const makes = [
  "mkdir -p src/empty && echo one >src/a && ln -s src/a link && echo '#!/bin/sh' >run && chmod 755 run",
  "head -c 3000000 /dev/zero | tr '\\0' x >big && echo odd >'a b\nc' && chmod 600 'a b\nc'",
].join(" && ");
const changes =
  "echo two >src/a && chmod 644 run && rm link && ln -s run link && rmdir src/empty && echo y >>big && mkdir new && echo new >new/b && rm 'a b\nc'";

async function hash(host: Host): Promise<{ files: string; conversation: string }> {
  const listed = await host.shell(
    "find . -mindepth 1 -printf '%P %y %m %l\\0' | sort -z; find . -type f -print0 | sort -z | xargs -0 sha256sum",
  );
  const digest = (text: string) => createHash("sha256").update(text).digest("hex");
  return { files: digest(listed), conversation: digest(JSON.stringify(await host.conversation())) };
}

const program = fileURLToPath(new URL("./killed-host.ts", import.meta.url));

/** A worker in a process of its own claims the thread, and dies at that step or write. */
async function dieAt({ dataDir, place }: Host, point: string): Promise<void> {
  const isWrite = /^(before|after)-/.test(point);
  const child = spawn(process.execPath, [program, server.path, dataDir, JSON.stringify(place), point], {
    env: { ...process.env, NODE_ENV: "test", ...(isWrite && { HEDDLE_FAULT: point }) },
    stdio: ["ignore", "ignore", "inherit"],
  });
  expect(await once(child, "exit")).toEqual([null, "SIGKILL"]);
}

/** In their order. */
const points = [
  ...["before-claim", "after-claim", "filled", "before-snapshot", "after-snapshot", "committed"],
  ...["moved-away", "moved-in", "noted", "saved", "before-append", "after-append"],
];

/** Each takes some seconds: those about the write that decides it stand for all where time is short. */
const tried = bounded ? points.filter((point) => /snapshot|moved/.test(point)) : points;

async function prepare() {
  const host = await open();
  await host.says("make", [bash(makes), { text: "Made." }]);
  await host.run();
  const before = await hash(host);
  await host.says("change", [bash(changes), { text: "Changed." }]);
  await host.run();
  const after = await hash(host);
  expect(after.files).not.toBe(before.files);
  expect(after.conversation).not.toBe(before.conversation);
  await host.says("!undo");
  await host.run();
  await host.presses("Undo");
  return { host, before, after };
}

/** Another worker on the host goes on, and the order is done. */
async function goOn({ dataDir, chat, place }: Host): Promise<Host> {
  const next = await open({ dataDir, chat, thread: place });
  expect(await next.run()).toBe("done");
  expect(await server.client().hmget(keys.head(next.thread), "undo", "restoring")).toEqual([null, null]);
  return next;
}

test.each(tried)("An undo is whole when its worker is killed at “%s”", { timeout: 60_000 }, async (point) => {
  const { host, before } = await prepare();
  await dieAt(host, point);
  const next = await goOn(host);
  expect(await hash(next)).toEqual(before);
  expect(next.problems).toEqual([]);
});

test.each(tried)(
  "An undo is taken back whole when its worker is killed at “%s”",
  { timeout: 60_000 },
  async (point) => {
    const { host, before, after } = await prepare();
    await host.run();
    expect(await hash(host)).toEqual(before);
    await host.says("!redo");
    await dieAt(host, point);
    const next = await goOn(host);
    expect(await hash(next)).toEqual(after);
    expect(next.problems).toEqual([]);
  },
);
