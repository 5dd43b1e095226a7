import type { Program } from "../tests/e2e/program.ts";
import { runs } from "../tests/fakes/anthropic-replies.ts";
import { serveThread, type ServedThread } from "./served-thread.ts";

/** Many threads that begin at the same time and are served by one worker. */
export interface Burst extends AsyncDisposable {
  served: ServedThread;
  /** Starts the worker that has to serve them all. */
  worker(env: Record<string, string>): Promise<Program>;
  /** One person per thread mentions Heddle, each in a channel of its own; resolves when all are answered. */
  run(): Promise<void>;
}

/** Longest wait for all answers, ms. */
const burstMs = 120_000;

/**
 * A gateway, and a model that holds back its first reply until every turn is in flight, then has each run one command
 * in its sandbox and streams an answer of 200 chunks over a second.
 */
export async function openBurst(count: number): Promise<Burst> {
  const allHere = Promise.withResolvers<void>();
  let here = 0;
  const served = await serveThread(
    async (said) => {
      if (said.includes("tool_result")) {
        const text = "An answer of many words, one after the other. ".repeat(40);
        return { content: [{ type: "text", text }], deltaSize: text.length / 200, delayMs: 5 };
      }
      here += 1;
      if (here === count) allHere.resolve();
      await allHere.promise;
      return runs("echo working");
    },
    { queue: { concurrency: count } },
  );
  const { slack } = served;
  try {
    await served.heddle(["--role", "gateway"]);
  } catch (error) {
    await served[Symbol.asyncDispose]();
    throw error;
  }
  return {
    served,
    worker: (env) => served.heddle(["--role", "worker"], env),
    async run() {
      const places = Array.from({ length: count }, (_, index) => slack.channel(`burst-${index}`));
      await Promise.all(
        places.map((place, index) => slack.user(`person-${index}`).says(place, "<@BOT> work")),
      );
      await slack.until(
        () => places.every(({ messages }) => messages.some(({ text }) => text.includes("An answer of many"))),
        burstMs,
      );
    },
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}
