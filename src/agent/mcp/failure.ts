import { SseError } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPError } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { z } from "zod";
import { cutText } from "../text.ts";
import { AnswerTooLarge } from "./bounded-answer.ts";

/** Codes of failures that happen before a request is sent: the server cannot have acted on it. */
const unreachable = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** No connection to the server could be made at all. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof Error && (unreachable.has(readCode(error)) || isUnreachable(error.cause));
}

/** A stream brought an event that was too long. The SDK hands on its error as a text. */
export function isTooLong(error: unknown): boolean {
  return error instanceof Error && error.message.includes(`${AnswerTooLarge.name}: `);
}

/** The request failed in transit: `fetch` throws a TypeError, whatever the reason. */
export function isNetworkFailure(error: unknown): boolean {
  return error instanceof TypeError && error.cause !== undefined;
}

/** An error and its causes in one line, without the parts that only developers need. */
export function describeError(error: unknown): string {
  if (error instanceof z.core.$ZodError) return "what it sent does not follow the protocol";
  if (!(error instanceof Error)) return joinLines(String(error));
  const refusal = describeRefusal(error);
  if (refusal !== undefined) return refusal;
  const cause = error.cause === undefined ? "" : `: ${describeError(error.cause)}`;
  return joinLines((error.message || readCode(error) || error.name) + cause);
}

/** The server wants a login that the request did not have. */
export function isRefusedLogin(error: unknown): boolean {
  return (error instanceof StreamableHTTPError || error instanceof SseError) && error.code === 401;
}

/** The server knows whose request it is, and that they may not make it. */
export function isForbidden(error: unknown): boolean {
  return error instanceof StreamableHTTPError && error.code === 403;
}

/** What the SDK says of these is the body of the answer, which tells nobody what to do. */
function describeRefusal(error: Error): string | undefined {
  if (!(error instanceof StreamableHTTPError || error instanceof SseError)) return undefined;
  switch (error.code) {
    case 401:
      return "it wants a login (HTTP 401): put a token that it takes into `headers` of its entry in mcp.json";
    case 403:
      return "it refuses what it was asked (HTTP 403): the token in `headers` of its entry in mcp.json may not do this";
    default:
      return undefined;
  }
}

/** Text of a server for a status line: no control characters, no colours, at most 500 characters. */
export function joinLines(text: string): string {
  // oxlint-disable-next-line no-control-regex -- these are what is taken out
  const plain = text.replaceAll(/\u001B\[[0-9;]*[A-Za-z]|[\u0000-\u001F\u007F]+/g, " ");
  return cutText(plain.replaceAll(/ +/g, " ").trim(), 500);
}

function readCode(error: Error): string {
  return "code" in error && typeof error.code === "string" ? error.code : "";
}
