import { randomBytes } from "node:crypto";
import { z } from "zod";
import { threadId } from "../../../chat/threads.ts";
import { idempotentId } from "../../../operations/idempotency.ts";
import { maxBodyBytes, messageText } from "./conversation-routes.ts";
import { type Reply, replyJson, replyProblem } from "../server/http.ts";
import { claimRequest, readIdempotencyKey } from "./idempotent.ts";
import { decide } from "./question-routes.ts";
import { events } from "./thread-routes.ts";
import { withThread } from "./with-thread.ts";
import type { Person } from "../server/person.ts";
import { consoleThread } from "../conversations/refs.ts";
import { hideQuestion, mayRead } from "./role-check.ts";
import { type ApiCall, type Caller, type Route, withBody } from "./route.ts";
import { intakeResult } from "./schemas/answers.ts";
import { threadDetails } from "./schemas/conversation.ts";
import { decision, follow } from "./schemas/requests.ts";
import { threadEvents } from "./schemas/timeline.ts";
import type { Services } from "../services.ts";

const startBody = z.strictObject({ text: messageText.min(1) });

const started = z.strictObject({
  id: z.string().describe("of the thread, among those of the console"),
  thread: z.string().describe("the same among the threads of all platforms"),
  result: intakeResult,
});

/** What a program needs to hand work to Heddle, in threads of the console. `:thread` may be one of any platform. */
export const jobRoutes: readonly Route[] = [
  {
    ...{ method: "POST", path: "/api/v1/threads", needs: "work", status: 201, isIdempotent: true },
    summary: "Starts a thread with its first message",
    body: startBody,
    answers: started,
    answer: start,
  },
  {
    ...{ method: "GET", path: "/api/v1/threads/:thread", needs: "read" },
    summary: "How a thread stands, what it asks, and in the console's own what was said",
    answers: threadDetails,
    answer: readThread,
  },
  {
    ...{ method: "GET", path: "/api/v1/threads/:thread/events", needs: "read" },
    summary: "Follows a thread; Last-Event-ID goes on where an earlier stream has ended",
    query: follow,
    answers: { events: threadEvents },
    answer: events,
  },
  {
    ...{ method: "POST", path: "/api/v1/threads/:thread/questions/:question", needs: "work" },
    summary: "Decides about a call, or answers a question",
    body: decision.schema,
    answers: intakeResult,
    answer: decide,
  },
];

const begin = { schema: startBody, maxBytes: maxBodyBytes, otherwise: "No thread was started" };

function start(services: Services, call: ApiCall): Promise<Reply> {
  return withBody(call, begin, async ({ text }) =>
    startThread(services, call.person, { text, key: readIdempotencyKey(call) }),
  );
}

/** Starts a thread with its first message. The same key of the same person is the same thread. */
export async function startThread(
  services: Services,
  person: Person,
  { text, key }: { text: string; key?: string | undefined },
): Promise<Reply> {
  const { author } = person;
  if (key !== undefined) {
    const request = `POST /api/v1/threads ${JSON.stringify({ text })}`;
    const refusal = await claimRequest(services, { person }, key, request);
    if (refusal) return refusal;
  }
  const id = key === undefined ? randomBytes(16).toString("hex") : idempotentId(author.id, key);
  const place = consoleThread(id);
  const result = await services.intake.say(place, text, author, id);
  if (result.kind === "refused") return replyProblem(403, result.reply);
  if (result.kind === "ignored") return replyProblem(409, `No thread was started: ${result.why}.`);
  return replyJson(201, { id, thread: threadId(place), result } satisfies z.infer<typeof started>);
}

/** How a thread stands, what it asks, and in the console's own what was said. */
export function readThread(services: Services, call: Caller): Promise<Reply | null> {
  return withThread(services, call, async (thread, line) => {
    const { conversations, operations } = services;
    const open = (await operations.questions()).filter((question) => question.thread === thread);
    const questions = open.map((one) => (mayRead(services, call, thread) ? one : hideQuestion(one)));
    const own = line.platform === "local" ? thread.split(":").at(-1) : undefined;
    const messages = own === undefined ? [] : await conversations.messages(own);
    return replyJson(200, { line, questions, messages } satisfies z.infer<typeof threadDetails>);
  });
}
