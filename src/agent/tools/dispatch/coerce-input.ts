import type { z } from "zod";
import { parseJson } from "../../text/text.ts";
import { isObject } from "../../llm/wire-calls.ts";

/** A repair may show the next thing to repair: an object in a string has fields of its own. */
const mostRounds = 3;

export interface ParsedInput<T> {
  /** When they are refused, the problem is what is wrong besides the forms that are taken as they are meant. */
  parsed: z.ZodSafeParseResult<T>;
  /** The arguments as they were taken, unknown ones included. */
  taken: unknown;
}

/**
 * Parses a call's arguments, also in forms that models often send and whose meaning is plain: `null` for an option that is
 * left out, a number or a boolean in a string, an array or object as JSON text. What is valid stays as it is, so a text
 * field keeps `"30"`.
 */
export function parseInput<T>(schema: z.ZodType<T>, input: unknown): ParsedInput<T> {
  let parsed = schema.safeParse(input);
  let current = input;
  for (let round = 0; round < mostRounds && !parsed.success; round += 1) {
    const repaired = repair(current, parsed.error.issues);
    if (repaired === undefined) break;
    current = repaired;
    parsed = schema.safeParse(current);
  }
  return { parsed, taken: current };
}

/** A copy in which every value of a wrong type is changed that can be; undefined where there is none. */
function repair(input: unknown, issues: readonly z.core.$ZodIssue[]): unknown {
  const copy: unknown = structuredClone(input);
  let repairs = 0;
  for (const issue of issues) {
    const field = issue.path.at(-1);
    const parent = follow(copy, issue.path.slice(0, -1));
    if (field === undefined || (!isObject(parent) && !Array.isArray(parent))) continue;
    const value: unknown = Reflect.get(parent, field);
    if (value === null && !Array.isArray(parent)) {
      Reflect.deleteProperty(parent, field);
      repairs += 1;
    } else if (typeof value === "string" && issue.code === "invalid_type") {
      const meant = read(value, issue.expected);
      if (meant === undefined) continue;
      Reflect.set(parent, field, meant);
      repairs += 1;
    }
  }
  return repairs > 0 ? copy : undefined;
}

/** The value at a path; undefined where there is none. */
export function follow(value: unknown, path: readonly PropertyKey[]): unknown {
  let at = value;
  for (const key of path) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
    at = Reflect.get(at, key);
  }
  return at;
}

/** What a text means where another type is expected; undefined where it does not say that. */
function read(text: string, expected: string): unknown {
  switch (expected) {
    case "number":
    case "int":
      return /^\s*-?\d+(\.\d+)?\s*$/.test(text) ? Number(text) : undefined;
    case "boolean":
      return { true: true, false: false }[text.trim().toLowerCase()];
    case "array":
      return parseAs(text, Array.isArray);
    case "object":
    case "record":
      return parseAs(text, isObject);
    default:
      return undefined;
  }
}

function parseAs(text: string, isMeant: (value: unknown) => boolean): unknown {
  const value = parseJson(text);
  return isMeant(value) ? value : undefined;
}
