import { UrlElicitationRequiredError as UrlRequired } from "@modelcontextprotocol/client";
import {
  type ElicitRequest,
  ElicitRequestURLParamsSchema,
  type ElicitResult,
  type Progress,
  UrlElicitationRequiredError,
} from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { startDeadline } from "./deadline.ts";
import {
  describeError,
  isForbidden,
  isNetworkFailure,
  isNoAnswer,
  isUnreachable,
  readStatus,
} from "./failure.ts";
import { type Link, withoutOwnTimeout } from "./transport/link.ts";
import { type CallResult, callResultSchema } from "./result.ts";

/** `tool` and `prompt` are the server's own names; `uri` asks for a resource. */
type Asked =
  | { tool: string; input: Record<string, unknown> }
  | { uri: string }
  | { prompt: string; arguments: Record<string, string> };

export type CallRequest = Asked & {
  signal: AbortSignal;
  /** W3C `traceparent`, which servers take from `_meta` (https://modelcontextprotocol.io/specification/2026-07-28/basic). */
  trace?: string | undefined;
  onProgress: (progress: Progress) => void;
  /** Asked what the call's person says to the server; never rejects. Absent where nobody has asked for the call. */
  onElicit?: (params: ElicitRequest["params"]) => Promise<ElicitResult>;
};

/** How a call went. Only `answered` and `refused` come from the server itself. */
export type McpCallOutcome =
  | { kind: "answered"; result: CallResult }
  /**
   * The server answered with a protocol error. `forbidden`: whoever the call was made for may not make it; `outdated`: the
   * tool wants other headers than its definition told.
   */
  | { kind: "refused"; problem: string; forbidden?: true; outdated?: true }
  | { kind: "timed-out" }
  | { kind: "stopped" }
  /** The server cannot be reached, and the call has not run. */
  | { kind: "unavailable"; problem: string }
  /**
   * The server takes no account of the person who has asked: there is none, it has ended, or it lacks permissions. The
   * call has not run.
   */
  | { kind: "signed-out"; lacks?: string }
  /** What came back is no answer of the protocol: nobody knows whether it ran. */
  | { kind: "unclear"; problem: string }
  /** The connection ended during the call: nobody knows whether it ran. */
  | { kind: "lost"; problem: string };

/**
 * Makes one call over one connection. Closes the connection when the call shows that it is dead.
 *
 * @param options.headers those that repeat arguments
 */
export async function callTool(
  link: Link,
  request: CallRequest,
  { executeMs, headers }: { executeMs: number; headers: Record<string, string> },
): Promise<McpCallOutcome> {
  const deadline = startDeadline(executeMs, request.signal);
  try {
    const result = await send(link, request, { signal: deadline.signal, headers });
    return { kind: "answered", result };
  } catch (error) {
    if (deadline.expired()) return { kind: "timed-out" };
    if (request.signal.aborted) return { kind: "stopped" };
    for (const visit of readVisits(error)) await request.onElicit?.(visit);
    const problem = describeError(error);
    if (isUnreachable(error) || isForgottenSession(error)) {
      await link.close();
      return { kind: "unavailable", problem };
    }
    if (isForbidden(error)) return { kind: "refused", problem: link.explain(error), forbidden: true };
    if (isHeaderMismatch(error)) return { kind: "refused", problem, outdated: true };
    if (isNetworkFailure(error)) await link.close();
    if (link.ended()) return { kind: "lost", problem: link.explain(error) };
    return { kind: isNoAnswer(error) ? "unclear" : "refused", problem };
  } finally {
    deadline.release();
  }
}

/** The SDKs hand on what the server has sent, whatever it is. */
const visitsSchema = z
  .array(z.unknown())
  .catch([])
  .transform((sent) => sent.flatMap((each) => ElicitRequestURLParamsSchema.safeParse(each).data ?? []));

/**
 * Pages that the server wants visited before the call.
 * https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-elicitation-required-error
 */
function readVisits(error: unknown): ElicitRequest["params"][] {
  const isOne = error instanceof UrlElicitationRequiredError || error instanceof UrlRequired;
  return isOne ? visitsSchema.parse(error.elicitations) : [];
}

async function send(
  { client }: Link,
  request: CallRequest,
  { signal, headers }: { signal: AbortSignal; headers: Record<string, string> },
): Promise<CallResult> {
  const options = { signal, onprogress: request.onProgress, ...withoutOwnTimeout };
  const meta = request.trace === undefined ? {} : { _meta: { traceparent: request.trace } };
  if ("uri" in request) {
    const params = { uri: request.uri, ...meta };
    return await client.request({ method: "resources/read", params }, resourceSchema, options);
  }
  if ("prompt" in request) {
    const params = { name: request.prompt, arguments: request.arguments, ...meta };
    return await client.request({ method: "prompts/get", params }, promptSchema, options);
  }
  const params = { name: request.tool, arguments: request.input, ...meta };
  return await client.request({ method: "tools/call", params }, callResultSchema, { ...options, headers });
}

/** A prompt's messages, as the result of a call. Who is to have said one stands before it where there are several. */
const promptSchema = z
  .looseObject({ messages: z.array(z.looseObject({ role: z.string(), content: z.unknown() })) })
  .transform(({ messages }): CallResult => {
    const say = (role: string) => ({ type: "text", text: `[${role === "assistant" ? role : "user"}]` });
    const content = messages.flatMap(({ role, content: part }) =>
      messages.length > 1 ? [say(role), part] : [part],
    );
    return { content, isError: false };
  });

/** A resource, as the result of a call that answers with nothing but its contents. */
const resourceSchema = z
  .looseObject({ contents: z.array(z.unknown()) })
  .transform(({ contents }) => contents.map((resource) => ({ type: "resource", resource })))
  .transform((content): CallResult => ({ content, isError: false }));

/** https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http */
function isHeaderMismatch(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === -32_020;
}

/**
 * A restarted server does not know the session any more: 404 by the specification, 400 in many servers. Either
 * way it has not run the call.
 */
function isForgottenSession(error: unknown): boolean {
  const status = readStatus(error);
  return status === 404 || status === 400;
}
