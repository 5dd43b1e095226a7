import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { listDescendants } from "../../src/sandbox/thread/processes.ts";
import { commandLine, processesOf } from "../e2e/processes.ts";
import { newPlace } from "../e2e/program.ts";
import { hasRedisServer, noRedisServer } from "./redis-process.ts";
import { full } from "./extent.ts";

const kills = full ? 20 : 3;
/** Five times what is promised. */
const patienceMs = 25_000;

test(
  "Nothing of Heddle outlives a supervisor that is killed at any moment of its worker's boot",
  async (context) => {
    context.skip(!hasRedisServer, noRedisServer);
    const place = await newPlace();
    onTestFinished(async () => {
      for (const pid of processesOf(place.folder)) process.kill(pid, "SIGKILL");
      await place.clean();
    });
    const startedAt = performance.now();
    // With a Redis of its own, which must end as well.
    const first = place.start(["start"]);
    await first.line(/Heddle is ready/);
    const bootMs = performance.now() - startedAt;
    for (let kill = 0; kill < kills; kill += 1) {
      const program = kill === 0 ? first : place.start(["start", "--role", kill % 2 ? "worker" : "all"]);
      while (listDescendants(program.pid).length === 0) await delay(5);
      await delay(Math.random() * bootMs);
      program.signal("SIGKILL");
      // It has ended when nobody holds its output any more: neither the worker nor the spawner of the sandboxes.
      const late = AbortSignal.timeout(patienceMs);
      const overdue = delay(patienceMs, "overdue", { ref: false });
      expect(await Promise.race([program.ended, overdue])).toBe("SIGKILL");
      while (processesOf(place.folder).length > 0 && !late.aborted) await delay(20);
      expect(processesOf(place.folder).map(commandLine)).toEqual([]);
    }
  },
  full ? 600_000 : 180_000,
);
