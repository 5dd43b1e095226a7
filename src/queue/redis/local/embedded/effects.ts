import type { KeyspaceEntry, RedisDatabase, RedisDataValue, RedisServerState } from "js-redis-server/core";
import type { Effect, ValueEffect } from "./record.ts";
import type { StoredKey } from "./store.ts";

const text = (bytes: Buffer): string => bytes.toString("latin1");
export const bytes = (latin1: string): Buffer => Buffer.from(latin1, "latin1");
const textOfHex = (hex: string) => Buffer.from(hex, "hex").toString("latin1");

type StreamId = { ms: bigint; seq: bigint };
type Stream = Extract<RedisDataValue, { type: "stream" }>;
type ListEffect = Extract<Effect, { op: "splice" | "lrem" }>;

const idText = ({ ms, seq }: StreamId) => `${ms}-${seq}`;
function idOf(id: string): StreamId {
  const [ms = "0", seq = "0"] = id.split("-");
  return { ms: BigInt(ms), seq: BigInt(seq) };
}

/** What the mutator of one command has done to one value so far. */
interface Changes {
  key: string;
  /** Fields and members, as the server names them: in hexadecimal. */
  touched: Set<string>;
  list: ListEffect[];
  /** A stream's entries before. */
  entries: Stream["entries"];
  /** Only the value as a whole tells. */
  whole: boolean;
}

/**
 * Tells `onEffect` everything that changes in the database, in order. It stands between the server and its database,
 * because the database's own events carry a copy of the whole value at each write: for a list of messages, all of them.
 */
export function recordEffects(
  state: RedisServerState,
  database: RedisDatabase,
  onEffect: (effect: Effect) => void,
): void {
  let changes: Changes | undefined;
  /** The mutator gets a value whose methods are noted down; the event that follows tells that something changed. */
  function recordDuring<Value extends object, Result>(
    key: Buffer,
    update: (key: Buffer, mutator: (value: Value) => Result) => Result,
    mutator: (value: Value) => Result,
  ): Result {
    const own: Changes = { key: text(key), touched: new Set(), list: [], entries: [], whole: false };
    try {
      return update(key, (value) => {
        // Not earlier: what has expired is removed before.
        changes = own;
        if ("value" in value) own.entries = [...(value.value as Stream).entries];
        return mutator(recordChanges(value, own));
      });
    } finally {
      changes = undefined;
    }
  }
  const hash = database.updateHash.bind(database);
  const list = database.updateList.bind(database);
  const set = database.updateSet.bind(database);
  const zset = database.updateSortedSet.bind(database);
  const stream = database.updateStream.bind(database);
  database.updateHash = (key, mutator) => recordDuring(key, hash<ReturnType<typeof mutator>>, mutator);
  database.updateList = (key, mutator) => recordDuring(key, list<ReturnType<typeof mutator>>, mutator);
  database.updateSet = (key, mutator) => recordDuring(key, set<ReturnType<typeof mutator>>, mutator);
  database.updateSortedSet = (key, mutator) => recordDuring(key, zset<ReturnType<typeof mutator>>, mutator);
  database.updateStream = (key, mutator) => recordDuring(key, stream<ReturnType<typeof mutator>>, mutator);

  const { mutations } = database;
  const tellListeners = mutations.emit.bind(mutations);
  mutations.emit = (event) => {
    switch (event.type) {
      case "write":
        for (const effect of effectsOfWrite(event, changes)) onEffect(effect);
        break;
      case "delete":
      case "evict":
        onEffect({ op: "delete", key: text(event.key) });
        break;
      case "expire":
        onEffect({ op: "expire", key: text(event.key), at: event.expiresAt });
        break;
      case "persist":
        onEffect({ op: "expire", key: text(event.key) });
        break;
      case "flush":
        onEffect({ op: "flush" });
        break;
    }
    // Those who wait for a key need to know that it was written, and nobody asks for keyspace events by their type.
    tellListeners(
      event.type === "write" && state.notifyKeyspaceEvents === "" ? { ...event, value: nothing } : event,
    );
  };
}

const nothing: RedisDataValue = { type: "string", value: Buffer.alloc(0) };

/** Methods that read, and those whose argument names the one field or member that they change. */
const reading = new Set(["getField", "hasField", "hasMember", "getMember", "entries", "randomMemberEntries"]);
const byName = new Set([
  ...["setField", "setFieldIfAbsent", "deleteField", "setFieldExpiration", "clearFieldExpiration"],
  ...["addMember", "deleteMember", "setScore"],
]);

function recordChanges<Value extends object>(value: Value, changes: Changes): Value {
  return new Proxy(value, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function" || typeof name !== "string") return member;
      return (...args: unknown[]): unknown => {
        note(target, name, args, changes);
        return Reflect.apply(member, target, args);
      };
    },
  });
}

function note(target: object, name: string, args: unknown[], changes: Changes): void {
  const [first] = args;
  if (reading.has(name) || name === "appendEntry" || (name === "trim" && "value" in target)) return;
  if (byName.has(name) && Buffer.isBuffer(first)) changes.touched.add(first.toString("hex"));
  else if (name === "deleteMemberId" && typeof first === "string") changes.touched.add(first);
  else {
    const effects =
      "length" in target ? listEffects(changes.key, Number(target.length), name, args) : undefined;
    if (effects) changes.list.push(...effects);
    else changes.whole = true;
  }
}

/** What a list's method is going to do; undefined when only the list can tell. */
function listEffects(key: string, length: number, name: string, args: unknown[]): ListEffect[] | undefined {
  const [first, second] = args;
  const splice = (at: number, remove: number, insert: string[] = []) =>
    ({ op: "splice", key, at, remove, insert }) as const;
  const take = (side: unknown, count: number) => {
    const removed = Math.min(count, length);
    return removed === 0 ? [] : [splice(side === "left" ? 0 : length - removed, removed)];
  };
  switch (name) {
    case "pushLeft":
      return [splice(0, 0, buffers(first).map(text).toReversed())];
    case "pushRight":
      return [splice(length, 0, buffers(first).map(text))];
    case "pop":
      return take(first, 1);
    case "popMany":
      return take(first, Number(second));
    case "setAt":
      return [splice(Number(first), 1, buffers([second]).map(text))];
    case "removeMatching":
      return buffers([second]).map((value) => ({
        op: "lrem",
        key,
        count: Number(first),
        value: text(value),
      }));
    default:
      return undefined;
  }
}

const buffers = (value: unknown): Buffer[] => (Array.isArray(value) ? value.filter(Buffer.isBuffer) : []);

function effectsOfWrite({ key, value, expiresAt }: KeyspaceEntry, changes: Changes | undefined): Effect[] {
  const name = text(key);
  const whole = () => [wholeValue({ key, value, ...(expiresAt !== undefined && { expiresAt }) })];
  if (!changes || changes.whole) return whole();
  const touched = [...changes.touched];
  switch (value.type) {
    case "string":
      return whole();
    case "hash": {
      const found = touched.flatMap((hex) => value.fields.get(hex) ?? []);
      const gone = touched.filter((hex) => !value.fields.has(hex)).map(textOfHex);
      return [
        ...(found.length > 0 ? [{ op: "hset", key: name, fields: found.map(fieldOf) } as const] : []),
        ...(gone.length > 0 ? [{ op: "hdel", key: name, fields: gone } as const] : []),
      ];
    }
    case "list":
      return changes.list;
    case "set": {
      const added = touched.flatMap((hex) => value.members.get(hex) ?? []).map(text);
      const gone = touched.filter((hex) => !value.members.has(hex)).map(textOfHex);
      return [
        ...(added.length > 0 ? [{ op: "sadd", key: name, members: added } as const] : []),
        ...(gone.length > 0 ? [{ op: "srem", key: name, members: gone } as const] : []),
      ];
    }
    case "zset": {
      const found = touched.flatMap((hex) => value.members.get(hex) ?? []);
      const gone = touched.filter((hex) => !value.members.has(hex)).map(textOfHex);
      return [
        ...(found.length > 0 ? [{ op: "zadd", key: name, scored: found.map(scoreOf) } as const] : []),
        ...(gone.length > 0 ? [{ op: "zrem", key: name, members: gone } as const] : []),
      ];
    }
    case "stream":
      return streamEffect(name, value, changes.entries) ?? whole();
  }
}

/** Undefined unless entries were taken from the start and put at the end. */
function streamEffect(key: string, stream: Stream, before: Stream["entries"]): Effect[] | undefined {
  const [first] = stream.entries;
  const found = first ? before.indexOf(first) : -1;
  const drop = found === -1 ? before.length : found;
  const kept = before.length - drop;
  if (before.slice(drop).some((entry, i) => stream.entries[i] !== entry)) return undefined;
  return [
    { op: "xadd", key, drop, entries: stream.entries.slice(kept).map(entryOf), ...streamState(stream) },
  ];
}

type Field = { field: Buffer; value: Buffer; expiresAt?: number };
const fieldOf = ({ field, value, expiresAt }: Field): [string, string, number | null] => [
  text(field),
  text(value),
  expiresAt ?? null,
];
const scoreOf = ({ member, score }: { member: Buffer; score: number }): [string, string] => [
  text(member),
  Object.is(score, -0) ? "-0" : String(score),
];
const entryOf = ({ id, fields }: Stream["entries"][number]): [string, string[]] => [
  idText(id),
  fields.map(text),
];
const streamState = ({ lastId, entriesAdded, maxDeletedEntryId }: Stream) => ({
  lastId: idText(lastId),
  added: entriesAdded,
  maxDeletedId: idText(maxDeletedEntryId),
});

/** The one effect that makes this key what it is. A stream's consumer groups are left out: nobody uses any. */
export function wholeValue({ key, value, expiresAt }: KeyspaceEntry): ValueEffect {
  const head = { op: "set", key: text(key), ...(expiresAt !== undefined && { expiresAt }) } as const;
  switch (value.type) {
    case "string":
      return { ...head, type: "string", value: text(value.value) };
    case "hash":
      return { ...head, type: "hash", fields: [...value.fields.values()].map(fieldOf) };
    case "list":
      return { ...head, type: "list", values: value.values.map(text) };
    case "set":
      return { ...head, type: "set", members: [...value.members.values()].map(text) };
    case "zset":
      return { ...head, type: "zset", scored: [...value.members.values()].map(scoreOf) };
    case "stream":
      return { ...head, type: "stream", entries: value.entries.map(entryOf), ...streamState(value) };
  }
}

const hexOf = (latin1: string) => bytes(latin1).toString("hex");

/** What the server keeps for this key. */
export function dataOf({ value }: StoredKey): RedisDataValue {
  switch (value.type) {
    case "string":
      return { type: "string", value: bytes(value.value) };
    case "hash":
      return {
        type: "hash",
        fields: new Map(
          [...value.fields].map(([field, { value: content, expiresAt }]) => [
            hexOf(field),
            { field: bytes(field), value: bytes(content), ...(expiresAt !== null && { expiresAt }) },
          ]),
        ),
      };
    case "list":
      return { type: "list", values: value.values.map(bytes) };
    case "set":
      return { type: "set", members: new Map([...value.members].map((each) => [hexOf(each), bytes(each)])) };
    case "zset":
      return {
        type: "zset",
        members: new Map(
          [...value.scores].map(([each, score]) => [
            hexOf(each),
            { member: bytes(each), score: Number(score) },
          ]),
        ),
      };
    case "stream":
      return {
        type: "stream",
        entries: value.entries.map(([id, fields]) => ({ id: idOf(id), fields: fields.map(bytes) })),
        lastId: idOf(value.lastId),
        entriesAdded: value.added,
        maxDeletedEntryId: idOf(value.maxDeletedId),
        groups: new Map(),
      };
  }
}
