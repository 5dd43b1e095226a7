import type { Redis } from "ioredis";
import { z } from "zod";
import type { OfferedPrompt } from "../../chat/prompt-choice.ts";
import { parseJson } from "../../agent/text/text.ts";
import { daySeconds, keys } from "../redis/keys.ts";

/** A server that no turn has met for so long is left out, ms; with as much the key goes. */
const keptMs = 7 * daySeconds * 1_000;
/** What has not changed is written again after so long, ms. */
const rewriteMs = 3_600_000;

/** The prompts of MCP servers, as workers have found them, for the gateways, which are connected to none. */
export interface PromptIndex {
  /** @param person whose account they were listed with, where each person has their own; nobody else sees them */
  publish(offered: {
    server: string;
    person?: string;
    prompts: readonly Omit<OfferedPrompt, "server">[];
  }): Promise<void>;
  /** Those of the installation, and that person's. */
  list(person: string): Promise<OfferedPrompt[]>;
}

const entrySchema = z.object({
  at: z.number(),
  prompts: z.array(
    z.object({
      name: z.string(),
      description: z.string(),
      arguments: z.array(
        z.object({ name: z.string(), about: z.string().exactOptional(), required: z.boolean() }),
      ),
    }),
  ),
});

export function createPromptIndex(redis: Redis, now: () => number): PromptIndex {
  /** What this process has written: the list itself, which stays the same one until its server is asked again. */
  const written = new Map<string, { prompts: object; at: number }>();
  const read = async (person?: string): Promise<OfferedPrompt[]> => {
    const stored = Object.entries(await redis.hgetall(keys.mcpPrompts(person)));
    return stored.flatMap(([server, json]) => {
      const { data } = entrySchema.safeParse(parseJson(json));
      return data && now() - data.at < keptMs ? data.prompts.map((prompt) => ({ server, ...prompt })) : [];
    });
  };
  return {
    async publish({ server, person, prompts }) {
      const key = keys.mcpPrompts(person);
      const known = JSON.stringify([key, server]);
      const last = written.get(known);
      if (last?.prompts === prompts && now() - last.at < rewriteMs) return;
      written.set(known, { prompts, at: now() });
      if (prompts.length === 0) return void (await redis.hdel(key, server));
      const entry = JSON.stringify({ at: now(), prompts });
      await redis.multi().hset(key, server, entry).pexpire(key, keptMs).exec();
    },
    async list(person) {
      const [ofAll, own] = await Promise.all([read(), read(person)]);
      return [...ofAll, ...own].toSorted((a, b) =>
        `${a.server}/${a.name}`.localeCompare(`${b.server}/${b.name}`),
      );
    },
  };
}
