/**
 * The program of the spawner, a child of the bot that starts all sandboxes. Starting a process copies the page
 * tables of its parent, which takes a bot of 400 MB some 20 ms in which it does nothing else; here it takes 2 ms.
 * It knows no secret of Heddle's: nothing but the settings of the sandbox ever comes here, and the variables that
 * `mcp.json` gives to a server.
 *
 * When the bot ends, however it ends, the channel closes, and this process kills its sandboxes and exits. Should
 * it be killed itself, the kernel kills them (`--die-with-parent`).
 */
import { statSync } from "node:fs";
import { killLaunches } from "./kill.ts";
import { closeInheritedFiles } from "./inherited-files.ts";
import type { LaunchSite } from "./launch-site.ts";
import { type Launch, launch } from "./launch.ts";
import { findResourceGroups } from "./limits/cgroups.ts";
import { Fence, fenced } from "../running/fence.ts";
import { openRunningRegistry } from "../running/registry.ts";
import { type HeldFiles, measureHeldFiles, nothingHeld } from "../thread/held-files.ts";
import type { ThreadFolder } from "../thread/host.ts";
import { readIdentity } from "../thread/processes.ts";
import { type Ending, type OutputStream, upkeep } from "../thread/spawner.ts";
import { createPipeSupply } from "./pipes.ts";
import { assembleSeccompFilter } from "./seccomp.ts";
import type { FromSpawner, SpawnerSettings, ToSpawner } from "./spawner-messages.ts";
import { architectureOf } from "./syscalls.ts";

const site = Promise.withResolvers<LaunchSite & { fence: Fence }>();
const running = new Map<number, Launch>();
/** Of those, by the key of their thread's folder. */
const ofThread = new Map<string, Set<Launch>>();
/** Of those, whether they must not run any more. */
const deadlines = new Map<number, () => boolean>();

closeInheritedFiles();

// Whoever ends everything at once (systemd, a terminal) ends the bot as well, and that decides what happens here.
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => {});

// Not by exiting at once: a bwrap that dies between making its child and releasing it leaves that child waiting.
process.on("disconnect", () => void end());
// Only the bot has the other end of the channel.
process.on("message", (message) => void handle(message as ToSpawner));

async function end(): Promise<void> {
  await killLaunches([...running.values()]);
  void site.promise.then(({ groups }) => groups.close());
  // Where it could not be prepared there are none.
  setImmediate(() => process.exit());
}

const networkGone = "The thread's network has just ended; run the command again.";

async function handle(message: ToSpawner): Promise<void> {
  if (message.type === "prepare") {
    site.resolve(prepare(message.settings));
    return;
  }
  // Everything waits for the same promise, so the order of the messages is kept.
  const { fence, ...ready } = await site.promise;
  switch (message.type) {
    case "launch":
      await runProgram(ready, fence, message);
      return;
    case "confirm":
      fence.confirm(message.thread, message.confirmation);
      return;
    case "input":
      running.get(message.id)?.feed(message.chunk);
      return;
    case "kill":
      running.get(message.id)?.kill(message.end);
      return;
    case "find-held":
      tell({ type: "held", call: message.call, held: await findHeld(message.folder) });
      return;
    case "prove-dead": {
      const report = await killLaunches(message.ids.flatMap((id) => running.get(id) ?? []));
      tell({ type: "dead", call: message.call, report });
    }
  }
}

async function runProgram(
  ready: LaunchSite,
  fence: Fence,
  { id, folder, request, joins }: Extract<ToSpawner, { type: "launch" }>,
): Promise<void> {
  if (!process.connected) return;
  // Looked up at the last moment, so that the number cannot have become another process's.
  const holder = joins === undefined ? undefined : running.get(joins)?.init()?.pid;
  if (joins !== undefined && holder === undefined) {
    tell({ type: "ended", id, ending: { end: "failed", exitCode: null, problem: networkGone } });
    return;
  }
  const isPast = () => fence.isPast(folder.key, request.origin ?? upkeep);
  if (isPast()) {
    tell({ type: "ended", id, ending: fencedEnding });
    return;
  }
  const started = launch(ready, folder, {
    ...request,
    ...(holder !== undefined && { network: holder }),
    onOutput: tellInTime(id),
  });
  running.set(id, started);
  deadlines.set(id, isPast);
  const siblings = ofThread.get(folder.key) ?? new Set();
  ofThread.set(folder.key, siblings.add(started));
  const ending = await started.ended;
  running.delete(id);
  deadlines.delete(id);
  siblings.delete(started);
  if (siblings.size === 0) ofThread.delete(folder.key);
  tell({ type: "ended", id, ending: ending.end === "failed" && isPast() ? fencedEnding : ending });
}

async function findHeld(folder: ThreadFolder): Promise<HeldFiles> {
  const launches = [...(ofThread.get(folder.key) ?? [])];
  const pids = launches.flatMap((started) => started.processes()).map(({ pid }) => pid);
  const disk = statSync(folder.path, { throwIfNoEntry: false });
  return disk ? measureHeldFiles(pids, disk.dev, folder.owner) : nothingHeld;
}

const fencedEnding: Ending = { end: "failed", exitCode: null, problem: `${fenced}.` };

async function prepare({
  fence: times,
  limits,
  systemMounts,
  running: notes,
  backend,
}: SpawnerSettings): Promise<LaunchSite & { fence: Fence }> {
  const architecture = architectureOf(process.arch);
  if (architecture === undefined) throw new Error(`No system call filter for ${process.arch}.`);
  const groups = await findResourceGroups(limits);
  const registry = openRunningRegistry(notes, { backend, by: readIdentity(process.pid) });
  registry.sweep();
  const fence = new Fence(times);
  fence.watch(() => {
    for (const [id, isPast] of deadlines) if (isPast()) running.get(id)?.kill("failed");
  });
  tell({ type: "ready", tier: { summary: groups.summary, exact: groups.countsEverything } });
  return {
    limits,
    systemMounts,
    groups,
    running: registry,
    fence,
    filter: assembleSeccompFilter(architecture, { denyUnmapped: !groups.countsEverything }),
    newPipe: createPipeSupply(),
    log: (line) => tell({ type: "log", line }),
  };
}

/** What is on its way to a bot that does not take it, before the program has to wait, bytes. */
const longestQueue = 1_048_576;

/** As fast as the bot takes it. */
function tellInTime(id: number): (stream: OutputStream, chunk: Buffer) => void {
  let queued = 0;
  return (stream, chunk) => {
    if (!process.connected) return;
    queued += chunk.length;
    if (queued > longestQueue) running.get(id)?.holdOutput(true);
    const message: FromSpawner = { type: "output", id, stream, chunk };
    process.send?.(message, undefined, undefined, () => {
      queued -= chunk.length;
      if (queued <= longestQueue / 2) running.get(id)?.holdOutput(false);
    });
  };
}

function tell(message: FromSpawner): void {
  // Without a channel nobody listens any more; "disconnect" is about to end this process. The channel can also be lost
  // while this is sent: without a listener of its own that error would end the process before its sandboxes.
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}
