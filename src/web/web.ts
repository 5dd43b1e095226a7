import type { JournalReader } from "../agent/journal/journal.ts";
import type { LanguageModel } from "../agent/model.ts";
import type { WebAccess, WebSearch } from "../agent/contracts/web.ts";
import { createAddressBook } from "./addresses.ts";
import type { AddressRules, FetchMode } from "./judge-address.ts";
import { createPages, type PagesOptions } from "./pages.ts";

/** What a channel has of the web. */
export interface WebRules extends Omit<AddressRules, "mode"> {
  fetch: FetchMode;
  /** Whether it may search, where there is a service. */
  search: boolean;
}

export interface WebOptions extends PagesOptions {
  rules(thread: string): WebRules;
  /** Absent where no service is configured, or not wholly. */
  search?: WebSearch;
  /** The search of the turn's own model, where that is to be used. Undefined for one whose service has none. */
  searchBy?(model: LanguageModel): WebSearch | undefined;
  /** Why there is none: what is not set. */
  missing?: string;
}

/** The web for threads. */
export interface Web {
  /**
   * What the thread's tools have for one turn; undefined where that is nothing.
   *
   * @param model the turn's, metered
   */
  open(thread: string, history: JournalReader, model?: LanguageModel): WebAccess | undefined;
  /** For the model, in the system prompt: what it can reach, or whom to name when it cannot. */
  describe(thread: string, model?: LanguageModel): string;
}

export function createWeb({
  rules,
  search,
  searchBy,
  missing = "web.search in heddle.yaml",
  ...options
}: WebOptions): Web {
  const openPages = createPages(options);
  const searchOf = (model: LanguageModel | undefined) => search ?? (model && searchBy?.(model));
  return {
    open(thread, history, model) {
      const { fetch, search: maySearch, ...addresses } = rules(thread);
      const own = maySearch ? searchOf(model) : undefined;
      const found = own ? { search: own } : {};
      if (fetch === "off") return own && found;
      const book = createAddressBook(history, options.now);
      return { ...found, pages: openPages(thread, { ...addresses, mode: fetch }, book) };
    },
    describe(thread, model) {
      const here = rules(thread);
      const lacks =
        searchBy && model
          ? `a service that can search: web.search is model, and that of ${model.id} has no search of its own. The operator can set another`
          : `${missing}, which the operator has not set`;
      return [describeFetch(here), describeSearch(here, searchOf(model) ? undefined : lacks)]
        .filter(Boolean)
        .join(" ");
    },
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

/** @param missing what it needs, where nobody can search */
function describeSearch({ search, fetch }: WebRules, missing: string | undefined): string {
  if (!search) return "You cannot search the web here: the operator has switched it off for this channel.";
  if (missing !== undefined) return `You cannot search the web here: it needs ${missing}.`;
  return fetch === "off" ? "web_search shows no more of a page than its snippet." : "";
}
