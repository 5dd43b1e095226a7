import { z } from "zod";
import { type Reply, replyJson, replyProblem } from "./http.ts";
import { consoleThread, isThreadId } from "./refs.ts";
import { type ApiCall, replyNotFound, type Route, withBody } from "./route.ts";
import type { Services } from "./services.ts";

const maxTextChars = 100_000;
/** Room for that text with every character escaped. */
const maxBodyBytes = 700_000;

const messageBody = z
  .object({
    text: z.string().max(maxTextChars),
    /** The same for every attempt to send the same message. */
    key: z.string().min(8).max(64),
    /** Ids of files that were sent before. */
    attachments: z
      .array(z.string().regex(/^[0-9a-f]{20}$/))
      .max(20)
      .default([]),
  })
  .refine(({ text, attachments }) => text.trim() !== "" || attachments.length > 0, "expected some text");

const pressBody = z.object({
  action: z.string().min(1).max(80),
  /** What the person wrote when asked for a sentence. */
  text: z.string().max(4_000).exactOptional(),
});

/**
 * The console's own threads. ID is a thread's id: 8 to 32 of `a-z 0-9`, chosen by whoever writes its first message.
 *
 * | request                                  | answer                                                      |
 * | ---------------------------------------- | ----------------------------------------------------------- |
 * | GET  /api/events[?thread=ID]             | Server-Sent Events, see `LiveStreams`                       |
 * | GET  /api/threads                        | a list of `ThreadSummary`, newest first                     |
 * | POST /api/threads/ID/messages            | `IntakeResult`, for `{ text, key, attachments? }`; a new ID makes a new thread |
 * | POST /api/threads/ID/messages/ID/actions | `IntakeResult`, for `{ action }` or `{ action, text }`: a button |
 * | POST /api/threads/ID/stop                | `IntakeResult`, for `{}`                                         |
 */
export const conversationRoutes: readonly Route[] = [
  { method: "GET", path: "/api/events", answer: stream },
  {
    method: "GET",
    path: "/api/threads",
    answer: async ({ conversations }) => replyJson(200, await conversations.threads()),
  },
  { method: "POST", path: "/api/threads/:thread/messages", answer: postMessage },
  { method: "POST", path: "/api/threads/:thread/messages/:message/actions", answer: press },
  { method: "POST", path: "/api/threads/:thread/stop", answer: stop },
];

/** Whether this is the id of a thread in which somebody has written. */
export async function threadExists({ conversations }: Services, id: string): Promise<boolean> {
  return isThreadId(id) && (await conversations.thread(id)) !== null;
}

function stream({ live }: Services, { response, query }: ApiCall): Reply | null {
  const thread = query.get("thread");
  if (thread !== null && !isThreadId(thread)) return replyProblem(404, "There is no such thread.");
  if (live.open(response, thread)) return null;
  return replyProblem(503, "Too many pages are open: close some of them.");
}

async function postMessage({ uploads, intake, author }: Services, call: ApiCall): Promise<Reply> {
  const [id = ""] = call.parameters;
  if (!isThreadId(id)) return replyProblem(404, "There is no such thread.");
  const shape = { schema: messageBody, maxBytes: maxBodyBytes, otherwise: "The message was not taken" };
  return await withBody(call, shape, async ({ text, key, attachments }) => {
    const files = await Promise.all(attachments.map((file) => uploads.claim(id, file)));
    const known = files.filter((file) => file !== null);
    if (known.length < files.length) {
      const why = "one of its files is not there, as a file waits an hour for its message. Attach it again.";
      return replyProblem(400, `The message was not taken: ${why}`);
    }
    const result = await intake.say(consoleThread(id), text, author, key, known);
    if (result.kind === "refused" || result.kind === "ignored")
      await Promise.all(known.map((file) => uploads.release(file)));
    return replyJson(200, result);
  });
}

async function press(services: Services, call: ApiCall): Promise<Reply> {
  const { intake, author } = services;
  const [id = "", message = ""] = call.parameters;
  if (!(await threadExists(services, id))) return replyNotFound();
  const shape = { schema: pressBody, maxBytes: maxBodyBytes, otherwise: "The button was not pressed" };
  return await withBody(call, shape, async (body) =>
    replyJson(200, await intake.press(consoleThread(id), { message, ...body }, author)),
  );
}

async function stop(services: Services, { parameters: [id = ""] }: ApiCall): Promise<Reply> {
  if (!(await threadExists(services, id))) return replyNotFound();
  return replyJson(200, await services.intake.stop(consoleThread(id), services.author));
}
