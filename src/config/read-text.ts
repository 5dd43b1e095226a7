import { readFileSync } from "node:fs";
import { explainUnreadable } from "../agent/file-problems.ts";
import { dropByteOrderMark } from "../agent/text/text.ts";
import { ConfigError } from "./config-error.ts";

/**
 * A file of the configuration; undefined where there is none. One that is there and cannot be read does not count as
 * missing: without it everybody might do everything.
 *
 * @throws ConfigError
 */
export function readText(path: string): string | undefined {
  try {
    return dropByteOrderMark(readFileSync(path, "utf8"));
  } catch (error) {
    const why = explainUnreadable(path, error);
    if (why === undefined) return undefined;
    throw new ConfigError(why);
  }
}
