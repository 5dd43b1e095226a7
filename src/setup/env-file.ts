import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { chown, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseEnv } from "node:util";

/** By name; undefined takes the variable out. */
export type EnvChanges = Readonly<Record<string, string | undefined>>;

/**
 * Changes variables of an env file and nothing else in it: other lines, comments and line ends stay.
 *
 * @throws Error with a sentence where that cannot be done
 */
export function editEnv(text: string, changes: EnvChanges): string {
  const end = text.includes("\r\n") ? "\r\n" : "\n";
  let edited = text;
  for (const [name, value] of Object.entries(changes)) {
    // The value may go over several lines in quotes.
    const entry = new RegExp(
      `^[ \\t]*(?:export[ \\t]+)?${name}[ \\t]*=[ \\t]*(?:"[^"]*"|'[^']*'|\`[^\`]*\`)?[^\\n]*(?:\\n|$)`,
      "gm",
    );
    let isDone = value === undefined;
    edited = edited.replaceAll(entry, () => {
      if (isDone) return "";
      isDone = true;
      return `${name}=${quote(value ?? "")}${end}`;
    });
    if (isDone) continue;
    const gap = edited === "" || edited.endsWith("\n") ? "" : end;
    edited += `${gap}${name}=${quote(value ?? "")}${end}`;
  }
  const wanted = { ...parseEnv(text), ...changes };
  const got = parseEnv(edited);
  const isRight = Object.keys({ ...wanted, ...got }).every((name) => wanted[name] === got[name]);
  if (!isRight) throw new Error("The file cannot be edited safely: it is written in an unusual way.");
  return edited;
}

/** Quotes only where it must: `docker run --env-file` and `kubectl --from-env-file` would take quotes for part of the value. */
function quote(value: string): string {
  if (/^[\w.:/@+=,%?-]*$/.test(value)) return value;
  const mark = ["'", '"', "`"].find((each) => !value.includes(each));
  if (mark === undefined || /[\r\n]/.test(value))
    throw new Error("A value has characters that cannot be stored.");
  return `${mark}${value}${mark}`;
}

/** The same for the file; it is made where there is none. Gives a sentence where others could read what was there. */
export async function changeEnvFile(path: string, changes: EnvChanges): Promise<string | undefined> {
  const before = existsSync(path) ? readFileSync(path, "utf8") : "";
  const wasOpen = before !== "" && (statSync(path).mode & 0o077) !== 0;
  await replaceFile(path, editEnv(before, changes), 0o600);
  return wasOpen
    ? `${path} could be read by other users of this machine; only its owner can read it from here on.`
    : undefined;
}

/**
 * Writes a file beside the old one and puts it in its place, so that a crash leaves one of the two. It never has another
 * mode than the given one, and keeps its owner.
 */
export async function replaceFile(path: string, text: string, mode: number): Promise<void> {
  const target = existsSync(path) ? realpathSync(path) : path;
  const part = join(dirname(target), `.${randomBytes(6).toString("hex")}.part`);
  try {
    const file = await open(part, "wx", mode);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    if (existsSync(target)) {
      const { uid, gid } = statSync(target);
      if (uid !== process.getuid?.()) await chown(part, uid, gid);
    }
    await rename(part, target);
  } finally {
    await rm(part, { force: true });
  }
}
