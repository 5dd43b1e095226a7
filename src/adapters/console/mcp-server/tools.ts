import { randomBytes } from "node:crypto";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { formatJson } from "../../../agent/text/format-json.ts";
import type { Act } from "../../../chat/roles.ts";
import { parseThreadId } from "../../../chat/threads.ts";
import { messageText } from "../api/conversation-routes.ts";
import { type Reply, replyJson, replyProblem } from "../server/http.ts";
import { claimRequest } from "../api/idempotent.ts";
import { idempotentId } from "../../../operations/idempotency.ts";
import { readThread, startThread } from "../api/job-routes.ts";
import { decideOpenQuestion } from "../api/question-routes.ts";
import { stopNamedThread } from "../api/thread-routes.ts";
import { withThread } from "../api/with-thread.ts";
import type { Person } from "../server/person.ts";
import { toWholeThread } from "../conversations/refs.ts";
import { refuse } from "../api/role-check.ts";
import type { Caller } from "../api/route.ts";
import { decision, mostWords } from "../api/schemas/requests.ts";
import type { Services } from "../services.ts";
import { followThread } from "./follow.ts";

/** What a call may wait for news, s. Clients give up on a silent call after a minute, unless they are told of progress. */
const defaultWaitSeconds = 45;
const mostWaitSeconds = 300;

const instructions =
  "Heddle is an agent that works in threads, each with a workspace of its own. Hand it a task with start, follow the " +
  "thread until it is idle or asks something, answer what it asks, read it for the whole answer, and stop it when its " +
  "work is no longer wanted. Its work goes on whether it is followed or not.";

const thread = z.string().max(300).describe("the thread's id, as start gave it");
const key = z
  .string()
  .min(1)
  .max(255)
  .optional()
  .describe("makes a repetition safe: the same key with the same text is done once, within a day");

export interface McpCaller {
  services: Services;
  person: Person;
  /** Holds an answer back until what it says is stored. */
  confirm<T>(work: Promise<T>): Promise<T>;
  /** The connection's end. */
  signal: AbortSignal;
}

/** Heddle as a server of the Model Context Protocol, for one request of one person. */
export function createMcpServer(caller: McpCaller): McpServer {
  const server = new McpServer({ name: "heddle", version: "1" }, { instructions });
  offerHandingOver(server, caller);
  offerReading(server, caller);
  offerDeciding(server, caller);
  return server;
}

/** Does what the person's role allows, on a thread if the call names one. */
function actFor({ services, person, confirm }: McpCaller) {
  return async (
    needs: Act,
    names: readonly string[],
    work: (call: Caller) => Promise<Reply | null>,
  ): Promise<CallToolResult> => {
    const [name, ...rest] = names;
    const call: Caller = { person, parameters: name === undefined ? [] : [toWholeThread(name), ...rest] };
    const refusal = refuse(services, { needs }, call);
    return toResult(refusal ?? (await confirm(work(call))));
  };
}

function offerHandingOver(server: McpServer, caller: McpCaller): void {
  const { services, person } = caller;
  const act = actFor(caller);
  server.registerTool(
    "start",
    {
      title: "Start a thread",
      description:
        "Starts a thread with its first message, and returns its id. It does not wait for the answer.",
      inputSchema: { text: messageText.min(1).describe("the task, in Markdown"), key },
      annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
    },
    (task) => act("work", [], () => startThread(services, person, task)),
  );

  server.registerTool(
    "say",
    {
      title: "Say more in a thread",
      description: "Adds a message to a thread. A turn that runs there takes it up; otherwise one begins.",
      inputSchema: { thread, text: messageText.min(1), key },
      annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
    },
    (message) =>
      act("work", [message.thread], (call) =>
        withThread(services, call, async (id, line) => {
          if (line.platform !== "local")
            return replyProblem(
              409,
              "Threads of chat platforms are written to there: this one is not the console's.",
            );
          const request = `MCP say ${id} ${JSON.stringify(message.text)}`;
          const refusal = message.key && (await claimRequest(services, { person }, message.key, request));
          if (refusal) return refusal;
          const named = message.key
            ? idempotentId(person.author.id, message.key)
            : randomBytes(16).toString("hex");
          const { author } = person;
          return replyJson(200, await services.intake.say(parseThreadId(id), message.text, author, named));
        }),
      ),
  );
}

function offerReading(server: McpServer, caller: McpCaller): void {
  const { services } = caller;
  const act = actFor(caller);
  server.registerTool(
    "follow",
    {
      title: "Follow a thread",
      description:
        "Returns what has happened in a thread since `from`, and waits until nothing runs there, it asks something, or " +
        "the time is over. Call it again with the `from` that it returns while the thread is running, or there is `more`.",
      inputSchema: {
        thread,
        from: z.int().min(0).default(0).describe("where to begin; 0: with the thread's first record"),
        wait_seconds: z.int().min(0).max(mostWaitSeconds).default(defaultWaitSeconds),
      },
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    ({ thread: name, from, wait_seconds: seconds }, { signal, sendNotification, _meta }) =>
      act("read", [name], (call) =>
        withThread(services, call, async (id) => {
          const token = _meta?.progressToken;
          let progress = 0;
          const where = { from, waitMs: seconds * 1_000, signal: AbortSignal.any([signal, caller.signal]) };
          const followed = await followThread(services.operations.threads, id, where, (records, told) => {
            progress += records;
            const message = told.at(-1)?.slice(0, 200);
            if (token === undefined || caller.signal.aborted) return;
            const params = { progressToken: token, progress, ...(message !== undefined && { message }) };
            void sendNotification({ method: "notifications/progress", params }).catch(() => {});
          });
          const { state = "gone", ended } = followed.line ?? {};
          const { next, more, happened } = followed;
          const text = happened.join("\n");
          return replyJson(200, { state, ended, from: next, ...(more && { more }), happened: text });
        }),
      ),
  );

  server.registerTool(
    "read",
    {
      title: "Read a thread",
      description:
        "How a thread stands, the questions that it asks people, and what was said in it, in full.",
      inputSchema: { thread },
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    ({ thread: name }) => act("read", [name], (call) => readThread(services, call)),
  );
}

function offerDeciding(server: McpServer, caller: McpCaller): void {
  const { services } = caller;
  const act = actFor(caller);
  server.registerTool(
    "answer",
    {
      title: "Answer a question",
      description:
        "Decides about a call that waits for approval (`approve`, `deny`), or answers a question (`answer`, with the " +
        "number of a choice or in words). Ask the person whom you work for before you approve anything.",
      inputSchema: {
        thread,
        question: z.string().max(200).describe("its id, as read and follow tell it"),
        decision: z.enum(["approve", "deny", "answer"]),
        choice: z.int().min(0).optional(),
        text: z.string().max(mostWords).optional().describe("the answer, or why it is denied"),
      },
      annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
    },
    ({ thread: name, question, ...given }) =>
      act("work", [name, question], (call) =>
        decideOpenQuestion(services, call, async (decide) => {
          const parsed = decision.schema.safeParse(toDecision(given));
          if (!parsed.success)
            return replyProblem(400, `${decision.otherwise}: ${z.prettifyError(parsed.error)}`);
          return await decide(parsed.data);
        }),
      ),
  );

  server.registerTool(
    "stop",
    {
      title: "Stop a thread",
      description:
        "Stops what runs or waits in a thread. It answers at once; follow the thread for the receipt that says what has ended.",
      inputSchema: { thread },
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    },
    ({ thread: name }) =>
      act("work", [name], (call) => withThread(services, call, () => stopNamedThread(services, call))),
  );
}

function toDecision(given: {
  decision: "approve" | "deny" | "answer";
  choice?: number | undefined;
  text?: string | undefined;
}): unknown {
  const { decision: kind, choice, text } = given;
  switch (kind) {
    case "approve":
      return { decision: kind };
    case "deny":
      return { decision: kind, ...(text !== undefined && { reason: text }) };
    case "answer":
      return { decision: kind, ...(choice !== undefined && { choice }), ...(text !== undefined && { text }) };
  }
}

/** What an address of the API would answer. */
function toResult(reply: Reply | null): CallToolResult {
  const { status, body = "" } = reply ?? replyProblem(500, "There is no answer.");
  const value: unknown = JSON.parse(String(body));
  if (status < 400) return { content: [{ type: "text", text: formatJson(value, 1) }] };
  const told = z.object({ error: z.string() }).safeParse(value);
  return { isError: true, content: [{ type: "text", text: told.data?.error ?? String(body) }] };
}
