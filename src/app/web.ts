import type { Redis } from "ioredis";
import type { Masker } from "../agent/masker.ts";
import type { Settings } from "../config/schema.ts";
import { addTransferredBytes } from "../queue/budgets/transferred-bytes.ts";
import { createWeb, type Web } from "../web/web.ts";
import { channelSettings } from "./channel-settings.ts";

const mebibyte = 1_048_576;

/** The web as the settings let threads have it. What they move counts with what their commands move. */
export function openWeb(settings: Settings, { masker, redis }: { masker: Masker; redis: Redis }): Web {
  const { web, egress } = settings;
  return createWeb({
    rules(thread) {
      const channel = channelSettings(settings, thread).web;
      return {
        fetch: channel?.fetch ?? web.fetch,
        hosts: [...web.allow, ...(channel?.allow ?? [])],
        unknown: web.unknown,
        queryCharacters: web.queryCharacters,
      };
    },
    limits: {
      bytes: web.pageMb * mebibyte,
      deadlineMs: web.seconds * 1_000,
      cacheMs: web.cacheMinutes * 60_000,
      bytesPerDay: egress.mbPerDay * mebibyte,
    },
    counter: { add: (thread, day, bytes) => addTransferredBytes(redis, thread, day, bytes) },
    masker,
    now: Date.now,
  });
}
