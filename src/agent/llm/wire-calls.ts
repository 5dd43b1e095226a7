import { randomUUID } from "node:crypto";
import { type ToolCall, toolCalls } from "../messages.ts";
import { memoizeByPrefix } from "./wire-history.ts";

/** A tool call as a service sends it. */
export interface WireCall {
  /** Missing at some servers, and the same in every reply at others. */
  id: string | undefined;
  name: string;
  /** JSON text, or what the model wrote in its place. */
  arguments: string;
}

/** The ids of all calls so far. A new call must not take one: results are matched by id over the whole session. */
export const takenCallIds = memoizeByPrefix(
  () => new Set<string>(),
  (taken, message) => {
    if (message.role === "assistant") for (const { id } of toolCalls(message)) taken.add(id);
  },
);

/**
 * Reads a model's call. Its id is kept where it is new (some models recognise their own), else replaced; in
 * both cases it is added to `taken`. Arguments that are no JSON object make the call malformed.
 */
export function readCall(wire: WireCall, taken: Set<string>): ToolCall {
  const id = wire.id && !taken.has(wire.id) ? wire.id : `call_${randomUUID().replaceAll("-", "")}`;
  taken.add(id);
  const call = { id, name: wire.name };
  const input = parseArguments(wire.arguments);
  return input ? { ...call, input } : { ...call, input: {}, malformed: wire.arguments };
}

/**
 * A call's arguments, undefined when they are no JSON object. For a tool without parameters, some servers send
 * nothing or `null` in place of an empty one.
 */
export function parseArguments(text: string): object | undefined {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    if (value === null) return {};
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A JSON object, as services want a call's arguments: no array, not null. */
export function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
