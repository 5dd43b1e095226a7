/** Heddle as it works in a thread: with mailbox, lease, journal and outbox in Redis, and progress in a chat. */
import { createOpenAIChatModel } from "../../src/agent/llm/openai/chat.ts";
import { startRedis } from "../../tests/fakes/redis.ts";
import { journalOf } from "../journal.ts";
import { openWorkbench } from "../workbench.ts";
import { apiKey, type Open } from "./candidate.ts";

export const open: Open = async ({ baseUrl, model: name }) => {
  const redis = await startRedis();
  const limits = { contextTokens: 1_000_000, maxOutputTokens: 8_000, images: false };
  const model = createOpenAIChatModel({ model: name, apiKey, baseUrl, limits });
  const bench = await openWorkbench(redis, model);
  return {
    async ask(history, task) {
      return bench.run(await bench.thread(journalOf(history)), task);
    },
    close: () => redis.stop(),
  };
};
