import type { JournalReader } from "../agent/journal.ts";
import type { WebAccess } from "../agent/web.ts";
import { createAddressBook } from "./addresses.ts";
import type { AddressRules, FetchMode } from "./judge-address.ts";
import { createPages, type PagesOptions } from "./pages.ts";

/** What a channel has of the web. */
export interface WebRules extends Omit<AddressRules, "mode"> {
  fetch: FetchMode;
}

export interface WebOptions extends PagesOptions {
  rules(thread: string): WebRules;
}

/** The web for threads. */
export interface Web {
  /** What the thread's tools have for one turn; undefined where that is nothing. */
  open(thread: string, history: JournalReader): WebAccess | undefined;
  /** For the model, in the system prompt: what it can reach, or whom to name when it cannot. */
  describe(thread: string): string;
}

export function createWeb({ rules, ...options }: WebOptions): Web {
  const openPages = createPages(options);
  return {
    open(thread, history) {
      const { fetch, ...addresses } = rules(thread);
      if (fetch === "off") return undefined;
      const book = createAddressBook(history, options.now);
      return { pages: openPages(thread, { ...addresses, mode: fetch }, book) };
    },
    describe: (thread) => describeFetch(rules(thread)),
  };
}

function describeFetch({ fetch, hosts, unknown }: WebRules): string {
  const others = unknown === "ask" ? "a person is asked about others" : "others are refused";
  switch (fetch) {
    case "off":
      return "You cannot read web pages here: the operator has not switched that on (web.fetch in heddle.yaml). Say so in one sentence when a task needs it.";
    case "listed":
      return `web_fetch reads pages of these hosts and no others: ${hosts.join(", ") || "none yet"}.`;
    case "open":
      return `web_fetch reads public pages whose address a person wrote, a search returned or a page that you read links; ${others}, so follow links and put no address together yourself. Name the pages that an answer rests on, with their addresses.`;
  }
}
