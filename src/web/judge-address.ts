import type { Masker } from "../agent/secrets/masker.ts";
import type { PolicyDecision } from "../agent/policy-decision.ts";
import { isListed } from "../sandbox/egress/policy.ts";
import { type AddressBook, decodeAll } from "./addresses.ts";

/** What a channel may read. `open`: any public page. */
export type FetchMode = "off" | "listed" | "open";

export interface AddressRules {
  mode: Exclude<FetchMode, "off">;
  /** Hosts whose addresses need no asking; with `listed` there are no others. */
  hosts: readonly string[];
  /** What becomes of an address that nobody has given. */
  unknown: "ask" | "refuse";
  /** The longest part behind `?` of an address that nobody is asked about, in characters. */
  queryCharacters: number;
}

/** The longest address, in characters. */
const longest = 2_000;

/** Whether an address may be fetched, before anything is looked up or sent. */
export async function judgeAddress(
  address: string,
  rules: AddressRules,
  { book, masker }: { book: AddressBook; masker: Masker },
): Promise<PolicyDecision> {
  const url = URL.parse(address);
  if (!url) return { action: "allow" };
  if (address.length > longest) {
    return deny(`the address has ${address.length} characters, and at most ${longest} are sent.`);
  }
  if (holdsSecret(address, masker)) {
    return deny(
      "the address holds what is, or looks like, a secret; a person can open it and attach what it shows.",
    );
  }
  const host = url.hostname.replace(/\.$/, "");
  if (isListed(rules.hosts, host)) return { action: "allow" };
  if (rules.mode === "listed") {
    return deny(
      `${host} is not among the hosts that the operator lets web_fetch read here (${list(rules.hosts)}).`,
    );
  }
  const isLong = url.search.length > rules.queryCharacters;
  if (!isLong && (await book.isGiven(url.href))) return { action: "allow" };
  const why = isLong
    ? `what stands behind ? in the address has ${url.search.length} characters, which could carry away what was said here.`
    : "nobody has given this address: no person wrote it, no search returned it and no page that was read here links it, so it could carry away what was said here.";
  return rules.unknown === "ask" ? { action: "ask", why: sentence(why) } : deny(why);
}

/** Whether the masking would change it, as it is or with its escapes undone. */
function holdsSecret(address: string, masker: Masker): boolean {
  return [address, decodeAll(address), decodeAll(address.replaceAll("+", " "))].some(
    (text) => masker.mask(text) !== text,
  );
}

function deny(why: string): PolicyDecision {
  return { action: "deny", why };
}

/** People read it by itself. */
function sentence(text: string): string {
  return `${text[0]?.toUpperCase() ?? ""}${text.slice(1)}`;
}

function list(hosts: readonly string[]): string {
  const shown = hosts.slice(0, 10).join(", ") || "none";
  return hosts.length > 10 ? `${shown} and ${hosts.length - 10} more` : shown;
}
