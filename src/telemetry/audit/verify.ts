import type { Redis } from "ioredis";
import { type Anchor, readAnchor } from "./anchor.ts";
import { type AuditEntry, genesis, type Link, parseEntry, proveEntry, verifyLink } from "./chain.ts";
import { readAllLines } from "./files.ts";
import { keys } from "../../queue/redis/keys.ts";
import type { AuditKey } from "./key.ts";
import { readAuditHead } from "./log.ts";
import { listAliases, readPeople } from "./people.ts";

export type Checked =
  | { kind: "entry"; entry: AuditEntry; line: string }
  /** Something is wrong behind `link`. There may be more of them. */
  | { kind: "fault"; fault: string; link: Link }
  /** The log is whole up to its head. `keyedFrom`: the first entry that is proven by the key. */
  | { kind: "whole"; link: Link; keyedFrom: number | undefined };

export interface VerifyOptions {
  /** A head that somebody noted elsewhere. */
  anchor?: Link | undefined;
  key?: AuditKey | undefined;
  /** Up to this entry an older Heddle, without a key, wrote beside newer ones. */
  unkeyedUntil?: number | undefined;
}

/** Entries of one kind that the key does not prove. */
interface Unproven {
  count: number;
  first: number;
  last: number;
  before: Link;
}

/**
 * Reads the log from its first entry, proving each, and tells what is wrong with it. A removal at the end is found by
 * the head that Redis keeps apart, by the anchor that gateways keep in the folder and by `anchor`. Behind a fault in
 * the chain only a keyed entry that names the break is trusted again, and what follows it.
 *
 * To be read to its end inside `withAuditLock`.
 */
export async function* verifyLog(
  redis: Redis,
  folder: string,
  options: VerifyOptions = {},
): AsyncGenerator<Checked> {
  const kept = await readAnchor(folder);
  const head = await readAuditHead(redis);
  const noted = [options.anchor, kept?.head, kept?.since, head].filter((link) => link !== undefined);
  const proofs = new Proofs(options, kept);
  const people = new NamedPeople();
  let faults = 0;
  let isLost = false;
  let link = genesis;
  const fault = (text: string, behind = link): Checked => {
    faults += 1;
    return { kind: "fault", fault: text, link: behind };
  };

  for await (const line of readAllLines(redis, folder)) {
    const next = verifyLink(link, line);
    const problem = next.ok ? contradict(noted, next.link) : next.fault;
    let entry = next.ok && problem === undefined ? next.entry : undefined;
    if (isLost || !entry) {
      if (!isLost && problem !== undefined) yield fault(problem);
      isLost = true;
      entry = proofs.resumes(link, line);
      if (!entry) continue;
      isLost = false;
    }
    proofs.look(entry, link);
    people.look(entry);
    link = { n: entry.n, hash: entry.hash };
    yield { kind: "entry", entry, line };
  }
  for (const found of [
    ...findHeadFaults(link, Math.max(...noted.map(({ n }) => n)), await readAuditHead(redis)),
    ...proofs.listFaults(),
    ...people.listFaults(await readPeople(redis), link),
  ]) {
    yield fault(found.text, found.before);
  }
  if (faults === 0) yield { kind: "whole", link, keyedFrom: proofs.keyedFrom };
}

/** More may have come since the head was read, never less; an entry and its head are written at once. */
function* findHeadFaults(link: Link, least: number, after: Link): Generator<{ text: string; before: Link }> {
  if (link.n < least) yield { text: `The log ends with entry ${link.n}, but it had ${least}.`, before: link };
  if (link.n > after.n) {
    const text = `Entry ${after.n + 1} lies behind the head of the log, which is entry ${after.n}.`;
    yield { text, before: link };
  }
  if (link.n === after.n && link.hash !== after.hash)
    yield { text: `The head of the log is not its newest entry ${link.n}.`, before: link };
}

function contradict(noted: readonly Link[], { n, hash }: Link): string | undefined {
  const other = noted.some((link) => link.n === n && link.hash !== hash && n > 0);
  return other ? `Entry ${n} is not the one that was noted: the log was made anew.` : undefined;
}

/** What the key says about the entries. */
class Proofs {
  readonly #key: AuditKey | undefined;
  readonly #unkeyedUntil: number;
  readonly #since: number;
  readonly #unproven = new Map<"unkeyed" | "foreign" | "forged", Unproven>();
  keyedFrom: number | undefined;

  constructor({ key, unkeyedUntil }: VerifyOptions, anchor: Anchor | undefined) {
    this.#key = key;
    this.#unkeyedUntil = unkeyedUntil ?? 0;
    this.#since = anchor?.since.n ?? Number.POSITIVE_INFINITY;
  }

  look(entry: AuditEntry, before: Link): void {
    const proof = proveEntry(entry, this.#key);
    const { n } = entry;
    if (proof === "keyed") {
      this.keyedFrom ??= n;
      return;
    }
    // From the first keyed entry on, and from where a gateway with a key has begun, all must be.
    const mustBeKeyed = this.keyedFrom !== undefined || this.#unproven.size > 0 || n > this.#since;
    if (proof === "unkeyed" && (!mustBeKeyed || n <= this.#unkeyedUntil)) return;
    const found = this.#unproven.get(proof);
    if (found) Object.assign(found, { count: found.count + 1, last: n });
    else this.#unproven.set(proof, { count: 1, first: n, last: n, before });
  }

  /** The entry, when it is Heddle's own word that the chain is broken and goes on here. */
  resumes(last: Link, line: string): AuditEntry | undefined {
    const entry = parseEntry(line);
    if (entry?.what !== "log-broken" || entry.n <= last.n) return undefined;
    const isWhole = verifyLink({ n: entry.n - 1, hash: entry.before }, line).ok;
    return isWhole && proveEntry(entry, this.#key) === "keyed" ? entry : undefined;
  }

  *listFaults(): Generator<{ text: string; before: Link }> {
    for (const [proof, { count, first, last, before }] of this.#unproven) {
      yield { text: describe[proof](count, first, last), before };
    }
  }
}

/** Who is named under seal, and who was forgotten, so that nobody becomes nameless unseen. */
class NamedPeople {
  readonly #named = new Set<string>();
  readonly #forgotten = new Set<string>();

  look(entry: AuditEntry): void {
    for (const alias of listAliases(entry)) this.#named.add(alias);
    if (entry.what === "person-forgotten") this.#forgotten.add(entry.alias);
  }

  *listFaults(
    { has }: { has(alias: string): boolean },
    before: Link,
  ): Generator<{ text: string; before: Link }> {
    const lost = [...this.#named].filter((alias) => !has(alias) && !this.#forgotten.has(alias));
    if (lost.length === 0) return;
    const who = lost.length === 1 ? "one person" : `${lost.length} people`;
    const text = `The names of ${who} cannot be read (${lost.slice(0, 5).join(", ")}): their keys are gone from Redis, and no entry says that they were to be forgotten. Entries are sound; a backup of ${keys.auditPeople} has the names.`;
    yield { text, before };
  }
}

const range = (count: number, first: number, last: number) =>
  count === 1 ? `Entry ${first} is` : `${count} entries from ${first} to ${last} are`;

const describe = {
  unkeyed: (count: number, first: number, last: number) =>
    `${range(count, first, last)} not keyed, though the log was by then: forged, or written by an older Heddle during an upgrade; if it was, say so with --unkeyed-until ${last}.`,
  foreign: (count: number, first: number, last: number) =>
    `${range(count, first, last)} keyed with a key that this host does not have: give all hosts the same HEDDLE_AUDIT_KEY, or verify where that key is.`,
  forged: (count: number, first: number, last: number) =>
    `${range(count, first, last)} forged: whoever wrote that does not have the key.`,
};
