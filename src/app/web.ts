import type { Redis } from "ioredis";
import type { Masker } from "../agent/secrets/masker.ts";
import type { Config } from "../config/load.ts";
import { addTransferredBytes } from "../queue/budgets/transferred-bytes.ts";
import { createModelSearch } from "../web/search/model-search.ts";
import { createSearch } from "../web/search/search.ts";
import { createWeb, type Web } from "../web/web.ts";
import { channelSettings } from "./channel-settings.ts";

const mebibyte = 1_048_576;

const keyVariables = {
  off: undefined,
  brave: "BRAVE_API_KEY",
  tavily: "TAVILY_API_KEY",
  searxng: undefined,
  model: undefined,
} as const;

/** The variable of the search service's key, where it takes one and has none. */
export function findMissingSearchKey({
  settings: { web },
  environment,
}: Pick<Config, "settings" | "environment">): string | undefined {
  const variable = keyVariables[web.search];
  return variable !== undefined && environment[variable] === undefined ? variable : undefined;
}

/** The web as the settings let threads have it. What they move counts with what their commands move. */
export function openWeb(
  { settings, environment }: Pick<Config, "settings" | "environment">,
  { masker, redis }: { masker: Masker; redis: Redis },
): Web {
  const { web, egress } = settings;
  const { search: service, searchUrl: url } = web;
  const missing = findMissingSearchKey({ settings, environment });
  const variable = keyVariables[service];
  const key = (variable !== undefined && environment[variable]) || "";
  return createWeb({
    rules(thread) {
      const channel = channelSettings(settings, thread).web;
      return {
        fetch: channel?.fetch ?? web.fetch,
        hosts: [...web.allow, ...(channel?.allow ?? [])],
        unknown: web.unknown,
        queryCharacters: web.queryCharacters,
        search: channel?.search ?? true,
      };
    },
    limits: {
      bytes: web.pageMb * mebibyte,
      deadlineMs: web.seconds * 1_000,
      cacheMs: web.cacheMinutes * 60_000,
      bytesPerDay: egress.mbPerDay * mebibyte,
    },
    counter: { add: (thread, day, bytes) => addTransferredBytes(redis, thread, day, bytes) },
    ...(service === "model" && { searchBy: (model) => createModelSearch({ model, masker, now: Date.now }) }),
    ...(service !== "off" &&
      service !== "model" &&
      missing === undefined && {
        search: createSearch({ service, key, masker, now: Date.now, ...(url !== undefined && { url }) }),
      }),
    ...(missing !== undefined && { missing }),
    masker,
    now: Date.now,
  });
}
