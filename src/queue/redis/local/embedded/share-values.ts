import type { KeyspaceEntry, RedisDatabase, RedisDataValue } from "js-redis-server/core";

/** As far as it is used here. */
interface Keyspace {
  get(key: Buffer): RedisDataValue | null;
  getLiveEntry(key: Buffer): KeyspaceEntry | null;
  entriesSnapshot(): KeyspaceEntry[];
  sweepExpired(): number;
  entries: Map<string, KeyspaceEntry>;
}

/**
 * The server copies each byte of a value to read any of it, and of all values to list their names. Its commands never
 * write into a field, a member or an entry that is stored, so a copy of what holds these suffices.
 */
export function shareValues(database: RedisDatabase): void {
  // Private, but the package's version is exact.
  const keyspace = Reflect.get(database, "keyspace") as unknown as Keyspace;
  keyspace.get = (key) => {
    const entry = keyspace.getLiveEntry(key);
    return entry && copyShallow(entry.value);
  };
  keyspace.entriesSnapshot = () => {
    keyspace.sweepExpired();
    return [...keyspace.entries.values()];
  };
}

function copyShallow(value: RedisDataValue): RedisDataValue {
  switch (value.type) {
    case "string":
      return { ...value, value: Buffer.from(value.value) };
    case "list":
      return { ...value, values: [...value.values] };
    case "hash":
      return { ...value, fields: new Map(value.fields) };
    case "set":
      return { ...value, members: new Map(value.members) };
    case "zset":
      return { ...value, members: new Map(value.members) };
    case "stream":
      return { ...value, entries: [...value.entries] };
  }
}
