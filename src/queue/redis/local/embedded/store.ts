import type { Effect, ValueEffect } from "./record.ts";

/** What a key holds; all text is latin1. */
export type StoredValue =
  | { type: "string"; value: string }
  | { type: "hash"; fields: Map<string, { value: string; expiresAt: number | null }> }
  | { type: "list"; values: string[] }
  | { type: "set"; members: Set<string> }
  | { type: "zset"; scores: Map<string, string> }
  | {
      type: "stream";
      entries: [id: string, fields: string[]][];
      lastId: string;
      added: number;
      maxDeletedId: string;
    };

export interface StoredKey {
  value: StoredValue;
  /** Milliseconds since 1970. */
  expiresAt?: number | undefined;
}

/** What records say, one after the other. It has no clock: a key is there until a record removes it. */
export type Store = Map<string, StoredKey>;

/** @throws {TypeError} for an effect on a key that does not hold such a value: the files do not belong together */
export function applyEffect(store: Store, effect: Effect): void {
  switch (effect.op) {
    case "set":
      store.set(effect.key, { value: valueOf(effect), expiresAt: effect.expiresAt });
      return;
    case "delete":
      store.delete(effect.key);
      return;
    case "flush":
      store.clear();
      return;
    case "expire": {
      const found = store.get(effect.key);
      if (found) found.expiresAt = effect.at;
      return;
    }
    case "hset":
      for (const [field, value, expiresAt] of effect.fields)
        valueIn(store, effect.key, "hash").fields.set(field, { value, expiresAt });
      return;
    case "hdel":
      for (const field of effect.fields) valueIn(store, effect.key, "hash").fields.delete(field);
      return;
    case "splice": {
      const { values } = valueIn(store, effect.key, "list");
      // Not with `splice`, whose arguments are limited.
      if (effect.at === values.length) for (const value of effect.insert) values.push(value);
      else values.splice(effect.at, effect.remove, ...effect.insert);
      return;
    }
    case "lrem":
      removeFrom(valueIn(store, effect.key, "list").values, effect.count, effect.value);
      return;
    case "sadd":
      for (const member of effect.members) valueIn(store, effect.key, "set").members.add(member);
      return;
    case "srem":
      for (const member of effect.members) valueIn(store, effect.key, "set").members.delete(member);
      return;
    case "zadd":
      for (const [member, score] of effect.scored)
        valueIn(store, effect.key, "zset").scores.set(member, score);
      return;
    case "zrem":
      for (const member of effect.members) valueIn(store, effect.key, "zset").scores.delete(member);
      return;
    case "xadd": {
      const stream = valueIn(store, effect.key, "stream");
      stream.entries.splice(0, effect.drop);
      stream.entries.push(...effect.entries);
      stream.lastId = effect.lastId;
      stream.added = effect.added;
      stream.maxDeletedId = effect.maxDeletedId;
      return;
    }
  }
}

function valueOf(effect: ValueEffect): StoredValue {
  switch (effect.type) {
    case "string":
      return { type: "string", value: effect.value };
    case "hash":
      return {
        type: "hash",
        fields: new Map(effect.fields.map(([field, value, expiresAt]) => [field, { value, expiresAt }])),
      };
    case "list":
      return { type: "list", values: effect.values };
    case "set":
      return { type: "set", members: new Set(effect.members) };
    case "zset":
      return { type: "zset", scores: new Map(effect.scored) };
    case "stream": {
      const { entries, lastId, added, maxDeletedId } = effect;
      return { type: "stream", entries, lastId, added, maxDeletedId };
    }
  }
}

const emptyStream = { lastId: "0-0", added: 0, maxDeletedId: "0-0" };

/** The value of this type under the key; a new one where there is none. */
function valueIn<Type extends StoredValue["type"]>(
  store: Store,
  key: string,
  type: Type,
): Extract<StoredValue, { type: Type }> {
  const found = store.get(key)?.value ?? createValue(type);
  if (found.type !== type) throw new TypeError(`${key} holds a ${found.type}, not a ${type}`);
  if (!store.has(key)) store.set(key, { value: found });
  // The line above has compared the types.
  return found as Extract<StoredValue, { type: Type }>;
}

function createValue(type: StoredValue["type"]): StoredValue {
  switch (type) {
    case "string":
      return { type, value: "" };
    case "hash":
      return { type, fields: new Map() };
    case "list":
      return { type, values: [] };
    case "set":
      return { type, members: new Set() };
    case "zset":
      return { type, scores: new Map() };
    case "stream":
      return { type, entries: [], ...emptyStream };
  }
}

/** As LREM does: the first `count`, from the end where that is negative, all where it is 0. */
function removeFrom(values: string[], count: number, value: string): void {
  let left = count === 0 ? values.length : Math.abs(count);
  if (count < 0) {
    for (let i = values.length - 1; i >= 0 && left > 0; i--)
      if (values[i] === value) left -= values.splice(i, 1).length;
  } else {
    for (let i = 0; i < values.length && left > 0; )
      if (values[i] === value) left -= values.splice(i, 1).length;
      else i++;
  }
}

/** Few enough for a line that is quickly written and read. */
const atOnce = 1_000;

/** The effects that make this key on an empty server, in pieces of a moderate size. */
export function* effectsOf(key: string, { value, expiresAt }: StoredKey): Generator<Effect> {
  const head = { op: "set", key, ...(expiresAt !== undefined && { expiresAt }) } as const;
  switch (value.type) {
    case "string":
      yield { ...head, type: "string", value: value.value };
      return;
    case "hash": {
      const all = [...value.fields].map(
        ([field, { value: text, expiresAt: at }]) => [field, text, at] as const,
      );
      yield { ...head, type: "hash", fields: [] };
      for (const some of inPieces(all)) yield { op: "hset", key, fields: some.map((each) => [...each]) };
      return;
    }
    case "list": {
      yield { ...head, type: "list", values: [] };
      let at = 0;
      for (const insert of inPieces(value.values)) {
        yield { op: "splice", key, at, remove: 0, insert };
        at += insert.length;
      }
      return;
    }
    case "set":
      yield { ...head, type: "set", members: [] };
      for (const members of inPieces([...value.members])) yield { op: "sadd", key, members };
      return;
    case "zset":
      yield { ...head, type: "zset", scored: [] };
      for (const scored of inPieces([...value.scores])) yield { op: "zadd", key, scored };
      return;
    case "stream": {
      const { lastId, added, maxDeletedId } = value;
      yield { ...head, type: "stream", entries: [], lastId, added, maxDeletedId };
      for (const entries of inPieces(value.entries))
        yield { op: "xadd", key, drop: 0, entries, lastId, added, maxDeletedId };
      return;
    }
  }
}

function* inPieces<T>(all: readonly T[]): Generator<T[]> {
  for (let from = 0; from < all.length; from += atOnce) yield all.slice(from, from + atOnce);
}
