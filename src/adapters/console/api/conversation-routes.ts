import { z } from "zod";
import { writtenFieldsSchema } from "../../../agent/server-input.ts";
import { idempotentId } from "../../../operations/idempotency.ts";
import { type Reply, replyJson, replyProblem } from "../server/http.ts";
import { claimRequest, readIdempotencyKey } from "./idempotent.ts";
import { consoleThread, isThreadId } from "../conversations/refs.ts";
import { type ApiCall, replyNotFound, type Route, withBody } from "./route.ts";
import { intakeResult } from "./schemas/answers.ts";
import { consoleEvents, threadSummary } from "./schemas/conversation.ts";
import type { Services } from "../services.ts";

const maxTextChars = 100_000;
/** Room for that text with every character escaped. */
export const maxBodyBytes = 700_000;

export const messageText = z.string().max(maxTextChars);

const messageBody = z
  .object({
    text: messageText,
    key: z
      .string()
      .min(8)
      .max(64)
      .exactOptional()
      .describe("the same for every attempt to send this message; not needed with an Idempotency-Key"),
    attachments: z
      .array(z.string().regex(/^[0-9a-f]{20}$/))
      .max(20)
      .default([])
      .describe("ids of files that were sent before"),
  })
  .refine(({ text, attachments }) => text.trim() !== "" || attachments.length > 0, "expected some text");

const ofThread = z.object({ thread: z.string().optional().describe("id of a thread of the console") });

const pressBody = z.object({
  action: z.string().min(1).max(80),
  /** What the person wrote when asked for a sentence. */
  text: z.string().max(4_000).exactOptional(),
  fields: writtenFieldsSchema
    .describe("the values of a form's fields, where an earlier press has answered with the form")
    .exactOptional(),
});

/** The console's own threads: 8 to 32 of `a-z 0-9`, chosen by whoever writes the first message. */
export const conversationRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/api/v1/events",
    needs: "read",
    summary: "Follows the console's threads, and one of them",
    query: ofThread,
    answers: { events: consoleEvents },
    answer: stream,
  },
  {
    method: "GET",
    path: "/api/v1/threads",
    needs: "read",
    summary: "The console's threads, newest first",
    answers: z.array(threadSummary),
    answer: async ({ conversations }) => replyJson(200, await conversations.threads()),
  },
  {
    method: "POST",
    path: "/api/v1/threads/:thread/messages",
    needs: "work",
    isIdempotent: true,
    summary: "Writes into a thread; a new id makes a new one",
    body: messageBody,
    answers: intakeResult,
    answer: postMessage,
  },
  {
    method: "POST",
    path: "/api/v1/threads/:thread/messages/:message/actions",
    needs: "work",
    summary: "Presses a button of a message",
    body: pressBody,
    answers: intakeResult,
    answer: press,
  },
  {
    method: "POST",
    path: "/api/v1/threads/:thread/stop",
    needs: "work",
    summary: "Stops what runs or waits in a thread",
    body: z.strictObject({}),
    answers: intakeResult,
    answer: stop,
  },
];

/** Whether this is the id of a thread in which somebody has written. */
export async function threadExists({ conversations }: Services, id: string): Promise<boolean> {
  return isThreadId(id) && (await conversations.thread(id)) !== null;
}

function stream({ live }: Services, call: ApiCall): Reply | null {
  const thread = call.query.get("thread");
  if (thread !== null && !isThreadId(thread)) return replyProblem(404, "There is no such thread.");
  if (live.open(call, thread)) return null;
  return replyProblem(503, "Too many pages are open: close some of them.");
}

async function postMessage(services: Services, call: ApiCall): Promise<Reply> {
  const { uploads, intake } = services;
  const [id = ""] = call.parameters;
  if (!isThreadId(id)) return replyProblem(404, "There is no such thread.");
  const shape = { schema: messageBody, maxBytes: maxBodyBytes, otherwise: "The message was not taken" };
  return await withBody(call, shape, async (body) => {
    const { text, attachments } = body;
    const named = await findMessageKey(services, call, body);
    if (!named.ok) return named.refusal;
    const { key } = named;
    const files = await Promise.all(attachments.map((file) => uploads.claim(id, file)));
    const known = files.filter((file) => file !== null);
    // Of a message that was taken, whose answer was lost, they may have been read by now.
    if (known.length < files.length && !(await intake.wasSaid(consoleThread(id), key))) {
      const why = "one of its files is not there, as a file waits an hour for its message. Attach it again.";
      return replyProblem(400, `The message was not taken: ${why}`);
    }
    const result = await intake.say(consoleThread(id), text, call.person.author, key, known);
    if (result.kind === "refused" || result.kind === "ignored")
      await Promise.all(known.map((file) => uploads.release(file)));
    return replyJson(200, result);
  });
}

/** By what the message is known when it comes again. */
async function findMessageKey(
  services: Services,
  call: ApiCall,
  body: z.infer<typeof messageBody>,
): Promise<{ ok: true; key: string } | { ok: false; refusal: Reply }> {
  const header = readIdempotencyKey(call);
  if (header !== undefined) {
    const { method, url } = call.request;
    const refusal = await claimRequest(services, call, header, `${method} ${url} ${JSON.stringify(body)}`);
    const id = idempotentId(call.person.author.id, header);
    return refusal ? { ok: false, refusal } : { ok: true, key: id };
  }
  if (body.key !== undefined) return { ok: true, key: body.key };
  const error = "The message was not taken: it needs a key, or the header Idempotency-Key.";
  return { ok: false, refusal: replyProblem(400, error) };
}

async function press(services: Services, call: ApiCall): Promise<Reply> {
  const { intake } = services;
  const [id = "", message = ""] = call.parameters;
  if (!(await threadExists(services, id))) return replyNotFound();
  const shape = { schema: pressBody, maxBytes: maxBodyBytes, otherwise: "The button was not pressed" };
  return await withBody(call, shape, async (body) =>
    replyJson(200, await intake.press(consoleThread(id), { message, ...body }, call.person.author)),
  );
}

async function stop(services: Services, { parameters: [id = ""], person }: ApiCall): Promise<Reply> {
  if (!(await threadExists(services, id))) return replyNotFound();
  return replyJson(200, await services.intake.stop(consoleThread(id), person.author));
}
