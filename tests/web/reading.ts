import { createMasker } from "../../src/agent/secrets/mask-secrets.ts";
import { createWebTools } from "../../src/agent/tools/web-search.ts";
import type { JournalReader } from "../../src/agent/journal/journal.ts";
import type { LanguageModel } from "../../src/agent/model.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { processCounter } from "../../src/sandbox/egress/allowance.ts";
import { createWeb, type WebOptions, type WebRules } from "../../src/web/web.ts";
import { readerOf } from "../agent/journal-reader.ts";
import { dispatcherOf, memoryNotes, run } from "../agent/tools/services.ts";
import type { WebSite } from "../fakes/web-site.ts";

export const secret = "sk-canary-1234567890abcdef";

/** The web of one thread, with its tools. */
export function openReading(
  site: WebSite,
  {
    rules = {},
    limits = {},
    options = {},
    history = readerOf(() => []),
    sandbox,
    model,
  }: {
    rules?: Partial<WebRules>;
    limits?: Partial<WebOptions["limits"]>;
    options?: Partial<WebOptions>;
    history?: JournalReader;
    sandbox?: Sandbox;
    model?: LanguageModel;
  } = {},
) {
  const masker = createMasker([secret]);
  const web = createWeb({
    // Whatever a test does not care about may be read.
    rules: () => ({
      ...{ fetch: "open", hosts: ["site.example"], unknown: "ask", queryCharacters: 200, search: true },
      ...rules,
    }),
    limits: { bytes: 1_048_576, deadlineMs: 20_000, cacheMs: 60_000, bytesPerDay: 1e9, ...limits },
    counter: processCounter(),
    masker,
    now: Date.now,
    dialer: site.dialer,
    ...options,
  });
  const access = web.open("test:w:c:t", history, model);
  const dispatcher = dispatcherOf({
    tools: access ? createWebTools(access) : [],
    masker,
    services: { notes: memoryNotes(), now: Date.now, ...(sandbox && { sandbox }) },
  });
  return {
    web,
    dispatcher,
    fetch: (url: string, more: Record<string, unknown> = {}) =>
      run(dispatcher, "web_fetch", { url, ...more }),
  };
}
