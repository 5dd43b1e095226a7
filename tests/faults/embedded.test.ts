import { readFileSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import { patienceMs, type Program } from "../e2e/program.ts";
import { listDescendants } from "../../src/sandbox/thread/processes.ts";
import type { FakeMessage } from "../fakes/slack/workspace.ts";
import { check } from "./check.ts";
import { gather, quiet } from "./evidence.ts";
import { note } from "./figures.ts";
import { deployForTest, type TestDeployment } from "./serve.ts";
import { replyTo } from "./tasks.ts";
import { full } from "./extent.ts";

let deployment: TestDeployment;
afterEach(async ({ task }) => {
  if (task.result?.state === "fail") console.error(deployment.outputs());
  await deployment.clean();
});

const cycles = full ? 20 : 1;
const often = full ? "twenty times" : "once";

test(`A program with the embedded server that is killed ${often} loses no message and does nothing twice`, {
  timeout: 1_200_000,
}, async () => {
  const [threads, calls] = full ? [4, 6] : [2, 4];
  /** How many model requests are still awaited before the kill. */
  let awaited = Number.POSITIVE_INFINITY;
  let reached = () => undefined as void;
  deployment = await deployForTest({
    redis: "embedded",
    replies(body) {
      if (--awaited === 0) reached();
      return replyTo(body);
    },
  });
  const { slack } = deployment;
  let program = await deployment.start("all");
  expect(program.output()).toMatch(/embedded Redis is the last resort.*power loss/);
  const figures = { cycles, sent: 0, answered: 0, marks: 0, twice: 0 };
  for (let cycle = 0; cycle < cycles; cycle++) {
    // Anywhere between the first model request and the last but some.
    awaited = 1 + Math.floor(Math.random() * threads * (calls - 1));
    const isTime = new Promise<void>((resolve) => (reached = resolve));
    const sent = await Promise.all(
      Array.from({ length: threads }, (_, i) => {
        const task = cycle * threads + i + 1;
        const user = slack.user(["ada", "bob", "cyd", "dan"][i] ?? "ada");
        return user.says(channelOf(slack, i), `<@BOT> task ${task} calls ${calls} pause 0.1`);
      }),
    );
    await isTime;
    awaited = Number.POSITIVE_INFINITY;
    await killAll(program);
    program = await deployment.start("all");
    await quiet(
      deployment,
      sent.map((message) => deployment.threadOf(message)),
      patienceMs,
    );
    for (const message of sent) {
      const evidence = await gather(deployment, [message]);
      const { broken } = check(evidence);
      expect(broken).toEqual([]);
      figures.sent++;
      if (evidence.posts.some((text) => text.includes("Answered:"))) figures.answered++;
      figures.marks += evidence.lines.length;
      figures.twice += evidence.lines.length - new Set(evidence.lines).size;
    }
  }
  note("embedded", figures);
  expect(figures).toMatchObject({ answered: cycles * threads, twice: 0 });
});

test("The embedded server gives back the memory of turns that are over", { timeout: 1_200_000 }, async () => {
  const [threads, turns] = full ? [50, 3_000] : [4, 12];
  deployment = await deployForTest({ redis: "embedded" });
  const { slack } = deployment;
  const program = await deployment.start("all");
  const roots: FakeMessage[] = [];
  const ask = async (count: number, from: number) => {
    for (let done = 0; done < count; done += threads) {
      const sent = await Promise.all(
        Array.from({ length: threads }, (_, i) => {
          const root = roots[i];
          const text = `<@BOT> task ${from + done + i}`;
          // Each person has few turns at once.
          const user = slack.user(`person-${i + 1}`);
          return user.says(channelOf(slack, i), text, root && { thread: root.ts });
        }),
      );
      if (roots.length === 0) roots.push(...sent);
      await quiet(
        deployment,
        roots.map((message) => deployment.threadOf(message)),
        patienceMs,
      );
    }
  };
  // Until the program has loaded all it needs.
  const warm = full ? threads * 2 : threads;
  await ask(warm, 1);
  const before = residentMB(program);
  await ask(turns, warm + 1);
  const grown = residentMB(program) - before;
  note("embedded-memory", { turns, before, grown });
  expect(grown).toBeLessThan(150);
});

/** One for each thread, since a channel takes few messages a second. */
const channelOf = (slack: TestDeployment["slack"], i: number) => slack.channel(`room-${i + 1}`);

/** At once, without a chance to write anything. */
async function killAll(program: Program): Promise<void> {
  const processes = [program.pid, ...listDescendants(program.pid).map(({ pid }) => pid)];
  // First none may go on, or a survivor would see another end.
  for (const pid of processes) signal(pid, "SIGSTOP");
  for (const pid of processes) signal(pid, "SIGKILL");
  await program.ended;
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended by itself.
  }
}

/** Of the process with the embedded server and all that it started. */
function residentMB({ pid }: Program): number {
  const processes = [pid, ...listDescendants(pid).map((each) => each.pid)];
  return Math.round(processes.reduce((sum, each) => sum + residentKB(each), 0) / 1_000);
}

function residentKB(pid: number): number {
  try {
    return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
