import type { FileDifference } from "../checkpoints.ts";

/** Where the content of a file lies among what is kept for its thread. */
export interface Content {
  pack: string;
  offset: number;
  length: number;
}

/** A file, folder or link as a checkpoint has it. Text of the tenant's is Latin-1 here, a byte a character. */
export interface Entry {
  path: string;
  type: "d" | "f" | "l";
  /** Octal. */
  mode: string;
  bytes: number;
  /** As `find` prints it, seconds. */
  modified: string;
  /** What changes when the content may have: times, size and inode. */
  signature: string;
  /** Of a link. */
  target: string;
  /** Of a file. */
  content?: Content;
}

/**
 * Argument: a pattern of paths that nobody could use. Prints what the workspace holds, three fields each. A folder that
 * its owner may not enter, or a file that its owner may not read, could not be kept: they are opened first, as that
 * changes what is printed of them.
 */
export const listScript = `
LC_ALL=C find . -xdev -mindepth 1 -path "$1" -prune -o \\
  '(' -type d ! -perm -u=rx -exec chmod u+rx {} ';' -o -type f ! -perm -u=r -exec chmod u+r {} ';' ')'
LC_ALL=C find . -xdev -mindepth 1 -path "$1" -prune -o '(' -type d -o -type f -o -type l ')' \\
  -printf '%y %m %s %T@ %C@ %i\\0%P\\0%l\\0'
true
`;

export function parseListing(printed: Buffer): Entry[] {
  const fields = printed.toString("latin1").split("\0");
  const entries: Entry[] = [];
  for (let index = 0; index + 2 < fields.length; index += 3) {
    const [described = "", path = "", target = ""] = fields.slice(index, index + 3);
    const entry = readEntry(described, path, target);
    if (entry) entries.push(entry);
  }
  return entries;
}

function readEntry(described: string, path: string, target: string): Entry | undefined {
  const [type, mode = "", size, modified = "", changed = "", inode = ""] = described.split(" ");
  if (type !== "d" && type !== "f" && type !== "l") return undefined;
  const bytes = type === "f" ? Number(size) : 0;
  const signature = type === "f" ? `${bytes} ${modified} ${changed} ${inode}` : "";
  return { path, type, mode, bytes, modified, signature, target };
}

/** As it is stored: fields with a NUL behind each. */
export function serializeListing(entries: readonly Entry[]): Buffer {
  const fields = entries.map(({ path, type, mode, bytes, modified, signature, target, content }) =>
    [
      ...[type, mode, bytes, modified, signature, path, target],
      ...(content ? [content.pack, content.offset, content.length] : ["", "", ""]),
      "",
    ].join("\0"),
  );
  return Buffer.from(fields.join(""), "latin1");
}

const storedFields = 10;

/** @throws where it is not what {@link serializeListing} has made */
export function readStoredListing(stored: Buffer): Entry[] {
  const fields = stored.toString("latin1").split("\0");
  if (fields.length % storedFields !== 1)
    throw new Error("The list of a checkpoint's files is not complete.");
  const entries: Entry[] = [];
  for (let index = 0; index + storedFields < fields.length; index += storedFields) {
    const [type, mode = "", bytes, modified = "", signature = "", path = "", target = "", ...content] =
      fields.slice(index, index + storedFields);
    if (type !== "d" && type !== "f" && type !== "l")
      throw new Error("The list of a checkpoint's files cannot be read.");
    const [pack, offset, length] = content;
    const kept = pack ? { content: { pack, offset: Number(offset), length: Number(length) } } : {};
    entries.push({ path, type, mode, bytes: Number(bytes), modified, signature, target, ...kept });
  }
  return entries;
}

export function byPath(entries: readonly Entry[]): Map<string, Entry> {
  return new Map(entries.map((entry) => [entry.path, entry]));
}

/** Whether both have the same content and mode. */
export function isSame(one: Entry, other: Entry): boolean {
  if (one.type !== other.type) return false;
  if (one.type === "l") return one.target === other.target;
  if (one.mode !== other.mode) return false;
  if (one.type === "d" || one.signature === other.signature) return true;
  const [a, b] = [one.content, other.content];
  return a !== undefined && b !== undefined && a.pack === b.pack && a.offset === b.offset;
}

/** Whether one file may be the other, by what is listed of them. */
export function isAlike(one: Entry, other: Entry): boolean {
  return one.type === other.type && one.mode === other.mode && one.bytes === other.bytes;
}

/** What bringing back `to` does where `from` is. Folders are not told of. */
export function differ(from: readonly Entry[], to: readonly Entry[]): FileDifference {
  const [before, after] = [byPath(from), byPath(to)];
  const restored = to.filter((entry) => {
    const present = before.get(entry.path);
    return entry.type !== "d" && !(present && isSame(present, entry));
  });
  const removed = from.filter(({ path, type }) => type !== "d" && !after.has(path));
  const names = (entries: readonly Entry[]) => entries.map(({ path }) => readable(path)).toSorted();
  return {
    restored: names(restored),
    removed: names(removed),
    bytes: restored.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

/** Whether nothing but times of folders tells them apart. */
export function isEqualListing(one: readonly Entry[], other: readonly Entry[]): boolean {
  if (one.length !== other.length) return false;
  const known = byPath(other);
  return one.every((entry) => {
    const same = known.get(entry.path);
    return same !== undefined && isSame(entry, same);
  });
}

function readable(path: string): string {
  return Buffer.from(path, "latin1").toString();
}
