import { SseError } from "@modelcontextprotocol/sdk/client/sse.js";
import { InsufficientScopeError, SdkHttpError } from "@modelcontextprotocol/client";
import { z } from "zod";
import { cutText } from "../text/text.ts";
import { AnswerTooLarge } from "../network/bounded-answer.ts";

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

/**
 * Answers to open requests can no longer arrive. The SDKs would go on waiting for them, and an SSE stream that is opened
 * anew belongs to a session without a handshake.
 */
export function endsConnection(error: unknown): boolean {
  return error instanceof SseError || isUnreachable(error) || isTooLong(error);
}

/** A stream brought an event that was too long. The SDK hands on its error as a text. */
function isTooLong(error: unknown): boolean {
  return error instanceof Error && error.message.includes(`${AnswerTooLarge.name}: `);
}

/** The request failed in transit: `fetch` throws a TypeError, whatever the reason. */
export function isNetworkFailure(error: unknown): boolean {
  return error instanceof TypeError && error.cause !== undefined;
}

/** Codes of the newer SDK's errors about answers that are none of the protocol. */
const unreadable = new Set(["INVALID_RESULT", "CLIENT_HTTP_UNEXPECTED_CONTENT"]);

/**
 * What came is no answer of the protocol, such as the page of a gateway that waits no longer: the server may have acted
 * on the request. The older SDK's transport for SSE has the status in its text alone.
 */
export function isNoAnswer(error: unknown): boolean {
  if (error instanceof SyntaxError || error instanceof z.core.$ZodError) return true;
  if ((readStatus(error) ?? 0) >= 500) return true;
  return error instanceof Error && (unreadable.has(readCode(error)) || /\(HTTP 5\d\d\)/.test(error.message));
}

/** An error and its causes in one line, without the parts that only developers need. */
export function describeError(error: unknown): string {
  if (error instanceof z.core.$ZodError) return "what it sent does not follow the protocol";
  if (!(error instanceof Error)) return joinLines(String(error));
  const refusal = describeRefusal(error);
  if (refusal !== undefined) return refusal;
  const missing = describeMissing(error);
  if (missing !== undefined) return missing;
  const cause = error.cause === undefined ? "" : `: ${describeError(error.cause)}`;
  return joinLines((error.message || readCode(error) || error.name) + cause);
}

/** The server wants a login that the request did not have. */
export function isRefusedLogin(error: unknown): boolean {
  return readStatus(error) === 401;
}

/** The status of the answer that the error is about. */
export function readStatus(error: unknown): number | undefined {
  if (error instanceof SdkHttpError) return error.status;
  if (error instanceof InsufficientScopeError) return 403;
  return error instanceof SseError ? error.code : undefined;
}

/** The server knows whose request it is, and that they may not make it. */
export function isForbidden(error: unknown): boolean {
  return readStatus(error) === 403;
}

/** What the SDK says of these is the body of the answer, which tells nobody what to do. */
function describeRefusal(error: Error): string | undefined {
  switch (readStatus(error)) {
    case 401:
      return "it wants a login (HTTP 401): put a token that it takes into `headers` of its entry in mcp.json";
    case 403:
      return "it refuses what it was asked (HTTP 403): the token in `headers` of its entry in mcp.json may not do this";
    case 404:
      return "it has nothing there (HTTP 404): correct `url` of its entry in mcp.json";
    default:
      return describeStatus(error);
  }
}

/** The SDK keeps the words of an answer apart when it has asked which protocol the server speaks. */
function describeStatus(error: Error): string | undefined {
  if (!(error instanceof SdkHttpError) || error.status < 400) return undefined;
  const { text } = error.data;
  const what = error.status < 500 ? "refuses what it was asked" : "fails";
  return joinLines(`it ${what} (HTTP ${error.status})${typeof text === "string" && text ? `: ${text}` : ""}`);
}

/** https://modelcontextprotocol.io/specification/2026-07-28/basic/lifecycle: a request needs what the client has not. */
const missingSchema = z.looseObject({
  code: z.literal(-32_021),
  data: z.looseObject({
    requiredCapabilities: z.looseObject({ extensions: z.record(z.string(), z.unknown()).default({}) }),
  }),
});

function describeMissing(error: Error): string | undefined {
  const missing = missingSchema.safeParse(error);
  if (!missing.success) return undefined;
  const { extensions, ...capabilities } = missing.data.data.requiredCapabilities;
  const names = [...Object.keys(capabilities), ...Object.keys(extensions)];
  return joinLines(
    "io.modelcontextprotocol/tasks" in extensions
      ? "it runs this only as a task (the extension io.modelcontextprotocol/tasks), which Heddle does not support"
      : `it needs what Heddle does not support: ${names.join(", ") || "it does not say what"}`,
  );
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
