import type { Redis } from "ioredis";
import type { ThreadId } from "../../chat/threads.ts";
import { readOpenQuestions } from "../../queue/session/questions/open-questions.ts";
import { readSessionStatus } from "../../queue/session/lists/sessions.ts";
import type { WorkerReport } from "../reports.ts";
import { readWorkers } from "./workers.ts";

/** What `/status` tells a thread: how it stands there, and which of the agent's tools are missing and why. */
export async function describeStatus(redis: Redis, thread: ThreadId): Promise<string> {
  const [state, questions, workers] = await Promise.all([
    readSessionStatus(redis, thread),
    readOpenQuestions(redis, thread),
    readWorkers(redis),
  ]);
  return [
    `**This thread**: ${questions.length > 0 ? "waits for a decision" : inWords[state]}`,
    ...(workers.length === 0
      ? ["**Workers**: none. What you write is kept, and taken when one is started."]
      : aboutWorkers(workers)),
  ].join("  \n");
}

const inWords = { running: "at work", waiting: "waits for a worker", idle: "nothing to do" };

function aboutWorkers(workers: readonly WorkerReport[]): string[] {
  const running = workers.reduce((sum, worker) => sum + worker.running.length, 0);
  const room = workers.reduce((sum, worker) => sum + worker.concurrency, 0);
  const problems = unique(
    workers.flatMap(({ sandbox }) =>
      sandbox.ok ? [] : sandbox.problems.map(({ what, fix }) => `${what} ${fix}`),
    ),
  );
  const servers = unique(
    workers.flatMap(({ mcp }) =>
      mcp.map(({ server, state, tools, problem }) => {
        const says = problem === undefined ? `${tools.length} tools` : problem;
        return `- MCP server ${server}: ${state}, ${says}`;
      }),
    ),
  );
  const turns = `${running} ${running === 1 ? "turn" : "turns"} running`;
  return [
    `**Workers**: ${workers.length}, with ${turns} and room for ${Math.max(0, room - running)} more`,
    `**Model**: ${unique(workers.map(({ model }) => model)).join(", ")}`,
    `**Sandbox**: ${problems.length === 0 ? "in force" : `missing, so there are no commands and no files. ${problems.join(" ")}`}`,
    ...servers,
  ];
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
