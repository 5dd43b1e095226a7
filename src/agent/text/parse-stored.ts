import type { z } from "zod";

/**
 * What this Heddle writes and reads, of everything that is stored as JSON. A value without `v` is of the first version.
 * One whose version is not known here was written by a later Heddle: it cannot be read, and is kept for it.
 * See docs/decisions/0024-stored-values-are-parsed.md for when and how there will be a second one.
 */
const version = 1;

/** `why` is for people, and repeats nothing of what is stored; `parsed` is what it is as JSON, if it is any. */
export type Parsed<T> = { ok: true; value: T } | { ok: false; why: string; parsed?: unknown };

export type StoredParser<T> = (json: string) => Parsed<T>;

/**
 * Makes what parses values that were stored as JSON. What it gives is the very value that was stored, whose fields keep
 * their order and which may have more than the schema names: only whether it fits the schema is looked at.
 *
 * @param isValid takes nothing that the schema refuses, but is faster; see `compileGuard`
 * @example
 * const parseStop = createStoredParser(stopOrderSchema);
 * parseStop('{"by":"Ada","at":1}'); // { ok: true, value: { by: "Ada", at: 1 } }
 * parseStop('{"by":"Ada"}'); // { ok: false, why: "at: Invalid input: expected number, received undefined" }
 */
export function createStoredParser<T>(
  schema: z.ZodType<T>,
  isValid: (value: unknown) => boolean = () => false,
): StoredParser<T> {
  return (json) => {
    let parsed: unknown;
    try {
      parsed = JSON.parse(json);
    } catch {
      // The engine's own words repeat the text.
      return { ok: false, why: "it is not JSON" };
    }
    if (!isOfKnownVersion(parsed))
      return { ok: false, why: "it is of a version that this Heddle does not know", parsed };
    if (!isValid(parsed)) {
      const { success, error } = schema.safeParse(parsed);
      if (!success) return { ok: false, why: describeIssues(error), parsed };
    }
    return { ok: true, value: parsed as T }; // It fits the schema, and so has this type.
  };
}

function isOfKnownVersion(value: unknown): boolean {
  if (typeof value !== "object" || value === null || !("v" in value)) return true;
  return value.v === undefined || value.v === version;
}

const shownIssues = 3;

/** Paths and what was expected there; zod's words name types and allowed values, never what was found. */
function describeIssues({ issues }: z.core.$ZodError): string {
  return issues
    .slice(0, shownIssues)
    .map(({ path, message }) => (path.length > 0 ? `${path.map(String).join(".")}: ${message}` : message))
    .join("; ");
}
