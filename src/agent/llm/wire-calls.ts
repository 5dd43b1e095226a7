import { randomUUID } from "node:crypto";
import type { ToolCall } from "../messages.ts";
import { isTooDeep } from "../text/nesting.ts";

/** A tool call as a service sends it. */
export interface WireCall {
  /** Missing at some servers, and the same in every reply at others (see `withUniqueCallIds`). */
  id: string | undefined;
  name: string;
  /** JSON text, or what the model wrote in its place. */
  arguments: string;
}

/**
 * Reads a model's call. Its id is kept: some models recognise their own. It is malformed where `parseArguments` does not
 * take its arguments.
 */
export function readCall(wire: WireCall): ToolCall {
  const call = { id: wire.id || createCallId(), name: wire.name };
  const input = parseArguments(wire.arguments);
  return input ? { ...call, input } : { ...call, input: {}, malformed: wire.arguments };
}

export function createCallId(): string {
  return `call_${randomUUID().replaceAll("-", "")}`;
}

/**
 * A call's arguments, undefined when they are no JSON object, or one that is nested too deep. For a tool without
 * parameters, some servers send nothing or `null` in place of an empty one; some models encode the object twice.
 */
export function parseArguments(text: string): object | undefined {
  if (text.trim() === "") return {};
  try {
    const once: unknown = JSON.parse(text);
    const value: unknown = typeof once === "string" ? JSON.parse(once) : once;
    if (value === null) return {};
    return isObject(value) && !isTooDeep(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A JSON object, as services want a call's arguments: no array, not null. */
export function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
