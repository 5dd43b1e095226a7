import type { z } from "zod";
import type { ToolCall } from "../../messages.ts";
import { isTooDeep, mostLevels } from "../../text/nesting.ts";
import { cutText } from "../../text/text.ts";
import { follow, parseInput } from "./coerce-input.ts";
import type { Tool } from "../tool.ts";
import { findUnknownArguments, type UnknownArgument } from "./unknown-arguments.ts";

export type CheckedCall = { ok: true; tool: Tool; input: unknown } | { ok: false; problem: string };

/** The tools of a turn. */
export interface Toolbox {
  /** Those that can be called, by name. */
  tools: ReadonlyMap<string, Tool>;
  /** The names that the model is told. */
  listed: readonly string[];
}

/** Looks up the called tool and parses its input. `problem` is for the model, and says what to change. */
export function checkCall(call: ToolCall, { tools, listed }: Toolbox): CheckedCall {
  const tool = tools.get(call.name);
  if (!tool) {
    const valid = listed.join(", ");
    return { ok: false, problem: `Unknown tool "${shorten(call.name)}". Valid tools: ${valid}.` };
  }
  if (call.malformed !== undefined) {
    const why = describeJsonProblem(call.malformed);
    return {
      ok: false,
      problem: `invalid JSON arguments for ${tool.name}: ${why}. Send one JSON object.`,
    };
  }
  const { parsed, taken } = parseInput(tool.input, tool.reshape ? tool.reshape(call.input) : call.input);
  const unknown = findUnknownArguments(tool, taken);
  if (parsed.success && unknown.length === 0) return { ok: true, tool, input: parsed.data };
  const faults = [
    ...unknown.slice(0, mostFaults).map(describeUnknown),
    ...(parsed.error?.issues ?? [])
      .slice(0, mostFaults)
      .map((issue) => `${nameField(issue.path)}: ${describeIssue(issue, taken)}`),
  ];
  return {
    ok: false,
    problem: `INVALID_PARAM: ${tool.name} was not run. ${shorten(faults.join("; "), 800)}.`,
  };
}

/** At most this many of a kind are told. */
const mostFaults = 8;

/** zod calls what is not there a value of a wrong type. */
function describeIssue({ path, message, ...issue }: z.core.$ZodIssue, input: unknown): string {
  const isMissing = issue.code === "invalid_type" && path.length > 0 && follow(input, path) === undefined;
  return isMissing ? `is missing (${"expected" in issue ? issue.expected : "a value"})` : message;
}

function describeUnknown({ path, known }: UnknownArgument): string {
  const list = known.length === 0 ? "there are none" : `known ones: ${known.join(", ")}`;
  return `${shorten(path)}: unknown argument (${list})`;
}

function describeJsonProblem(text: string): string {
  try {
    return isTooDeep(JSON.parse(text)) ? `nested more than ${mostLevels} levels deep` : "not an object";
  } catch (error) {
    return shorten(error instanceof Error ? error.message : "not JSON", 200);
  }
}

function nameField(path: readonly PropertyKey[]): string {
  return path.length === 0 ? "arguments" : path.map(String).join(".");
}

/** One line, cut: names and values in an error are the model's own and may be anything. */
function shorten(text: string, max = 64): string {
  return cutText(text.replace(/\s+/g, " "), max);
}
