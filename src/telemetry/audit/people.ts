import { randomBytes } from "node:crypto";
import type { Redis } from "ioredis";
import { z } from "zod";
import { heddle, type Speaker } from "../../agent/messages.ts";
import { createStoredParser } from "../../agent/text/parse-stored.ts";
import { createSealedBox, type SealedBox } from "../../agent/secrets/sealed-box.ts";
import { keys } from "../../queue/redis/keys.ts";
import type { AuditEntry } from "./chain.ts";
import type { AuditFact } from "./fact.ts";

/**
 * Seals whom the audit log names: each name and id under a key of that person. The log never changes, so what makes
 * names unreadable is the loss of that key.
 */
export interface PeopleSeals {
  /** The same facts with nobody's name or id in clear. The same text of a person is sealed the same way for a minute. */
  seal(facts: readonly AuditFact[]): Promise<AuditFact[]>;
}

/** A person of the log. */
export interface AuditPerson {
  /** `platform:workspace:id`. */
  person: string;
  /** What stands for them in the log. */
  alias: string;
  /** When they were first named, ms since the epoch. */
  since: number;
}

type Key = { alias: string; box: SealedBox };

const parseKey = createStoredParser(z.looseObject({ alias: z.string(), key: z.string(), since: z.number() }));

/** `sealed:<alias>:<base64>`. */
const form = /^sealed:([0-9a-f]{16}):([\w+/=]+)$/;
/** A process that does not know yet that somebody was forgotten goes on with a key that opens nothing. */
const cachedMs = 60_000;
const mostCached = 10_000;
const purpose = "heddle audit names";

/** What stands in the place of a name whose key is gone. */
const forgottenName = "(forgotten)";

export function createPeopleSeals(redis: Redis, now: () => number): PeopleSeals {
  const cache = new Map<string, Key & { until: number; sealed: Map<string, string> }>();

  const find = async (person: string) => {
    const known = cache.get(person);
    if (known && known.until > now()) return known;
    const { alias, box } = await readOrMakeKey(redis, person, now);
    if (cache.size >= mostCached) cache.clear();
    const sealed = known?.alias === alias ? known.sealed : new Map<string, string>();
    const entry = { alias, box, until: now() + cachedMs, sealed };
    cache.set(person, entry);
    return entry;
  };

  const sealText = async (person: string, text: string): Promise<string> => {
    const { alias, box, sealed } = await find(person);
    const seal = sealed.get(text) ?? `sealed:${alias}:${box.seal(text, alias)}`;
    sealed.set(text, seal);
    return seal;
  };

  return {
    async seal(facts) {
      const sealed: AuditFact[] = [];
      for (const fact of facts) sealed.push(await sealFact(fact, sealText));
      return sealed;
    },
  };
}

async function sealFact(
  fact: AuditFact,
  sealText: (person: string, text: string) => Promise<string>,
): Promise<AuditFact> {
  const place = placeOf(fact);
  const sealSpeaker = async (speaker: Speaker): Promise<Speaker> => {
    if (speaker.id === heddle.id) return speaker;
    const person = personOf(place, speaker.id);
    return { id: await sealText(person, speaker.id), name: await sealText(person, speaker.name) };
  };
  if ("asked" in fact) {
    const asked = [];
    for (const one of fact.asked) asked.push({ ...one, by: await sealSpeaker(one.by) });
    return { ...fact, asked };
  }
  if (!("by" in fact)) return fact;
  const sealed = { ...fact, by: await sealSpeaker(fact.by) };
  if ("person" in sealed)
    return { ...sealed, person: await sealText(personOf("", `@${sealed.person}`), sealed.person) };
  // It may be a channel, which is then sealed as well.
  if ("of" in sealed) return { ...sealed, of: await sealText(sealed.of, sealed.of) };
  return sealed;
}

/** `platform:workspace` of where it happened; empty where that is nowhere. */
function placeOf(fact: AuditFact): string {
  const { thread, workspace } = { thread: undefined, workspace: undefined, ...fact };
  return thread?.split(":").slice(0, 2).join(":") ?? workspace ?? "";
}

/** People of the console keep their ids wherever they do something; no platform gives such ids. */
function personOf(place: string, id: string): string {
  const isOfConsole = place === "" || id.startsWith("@") || id === "console" || id === "operator";
  return `${isOfConsole ? "local:console" : place}:${id}`;
}

async function readOrMakeKey(redis: Redis, person: string, now: () => number): Promise<Key> {
  let json = await redis.hget(keys.auditPeople, person);
  if (json === null) {
    const made = { v: 1, alias: randomBytes(8).toString("hex"), key: randomBytes(32).toString("base64") };
    await redis.hsetnx(keys.auditPeople, person, JSON.stringify({ ...made, since: now() }));
    // Another process may have been faster.
    json = await redis.hget(keys.auditPeople, person);
  }
  const parsed = parseKey(json ?? "");
  if (!parsed.ok)
    throw new Error(`The key of a person's names in the audit log cannot be read (${parsed.why}).`);
  return { alias: parsed.value.alias, box: createSealedBox(parsed.value.key, purpose) };
}

/** Opens what was sealed, for whoever may read the log. */
export interface OpenedPeople {
  /** The same entry with names in clear; `forgottenName` for those whose key is gone. */
  open(entry: AuditEntry): AuditEntry;
  /** Whether that person's names can be read. */
  has(alias: string): boolean;
}

/** All keys as they are at this moment. */
export async function readPeople(redis: Redis): Promise<OpenedPeople> {
  const boxes = new Map<string, SealedBox>();
  for (const json of Object.values(await redis.hgetall(keys.auditPeople))) {
    const parsed = parseKey(json);
    if (parsed.ok) boxes.set(parsed.value.alias, createSealedBox(parsed.value.key, purpose));
  }
  const opened = new Map<string, string>();
  const openText = (text: string): string => {
    const known = opened.get(text);
    if (known !== undefined) return known;
    const [, alias = "", sealed = ""] = form.exec(text) ?? [];
    if (!alias) return text;
    const name = tryToOpen(boxes.get(alias), alias, sealed);
    if (opened.size >= mostCached) opened.clear();
    opened.set(text, name);
    return name;
  };
  return { open: (entry) => mapNames(entry, openText), has: (alias) => boxes.has(alias) };
}

/** The entry with each text that names somebody replaced. Other texts may be anybody's, and look like anything. */
function mapNames(entry: AuditEntry, replace: (text: string) => string): AuditEntry {
  const replaceSpeaker = ({ id, name }: Speaker): Speaker => ({ id: replace(id), name: replace(name) });
  const nobody = { by: undefined, asked: undefined, person: undefined, of: undefined };
  const { by, asked, person, of } = { ...nobody, ...entry };
  const named: Naming = {
    ...(by !== undefined && { by: typeof by === "string" ? replace(by) : replaceSpeaker(by) }),
    ...(asked && { asked: asked.map((one) => ({ ...one, by: replaceSpeaker(one.by) })) }),
    ...(person !== undefined && { person: replace(person) }),
    ...(of !== undefined && { of: replace(of) }),
  };
  // Each field keeps its type.
  return { ...entry, ...named } as AuditEntry;
}

/** What of an entry of any kind, or of any older Heddle, names people. */
interface Naming {
  by?: string | Speaker;
  asked?: { message: string; by: Speaker }[];
  person?: string;
  of?: string;
}

function tryToOpen(box: SealedBox | undefined, alias: string, sealed: string): string {
  try {
    return box?.open(sealed, alias) ?? forgottenName;
  } catch {
    return forgottenName;
  }
}

/** Whom an entry names under seal. */
export function listAliases(entry: AuditEntry): string[] {
  const found: string[] = [];
  mapNames(entry, (text) => {
    const alias = form.exec(text)?.[1];
    if (alias !== undefined) found.push(alias);
    return text;
  });
  return found;
}

/** Whether an entry names that person in clear, as an older Heddle did. */
export function namesInClear(entry: AuditEntry, person: string): boolean {
  const place = placeOf(entry);
  const speakers = [
    ...("asked" in entry ? entry.asked.map(({ by }) => by) : []),
    ...("by" in entry ? [entry.by] : []),
  ];
  return speakers.some((speaker) => typeof speaker === "object" && personOf(place, speaker.id) === person);
}

/** Everybody whose names can be read, by whom they are. */
export async function listPeople(redis: Redis): Promise<AuditPerson[]> {
  const found: AuditPerson[] = [];
  for (const [person, json] of Object.entries(await redis.hgetall(keys.auditPeople))) {
    const parsed = parseKey(json);
    if (parsed.ok) found.push({ person, alias: parsed.value.alias, since: parsed.value.since });
  }
  return found.toSorted((a, b) => (a.person < b.person ? -1 : 1));
}

/** Makes that person's names in the log unreadable, in all of its copies. */
export async function forgetNames(redis: Redis, person: string): Promise<void> {
  await redis.hdel(keys.auditPeople, person);
}
