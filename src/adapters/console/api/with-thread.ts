import { z } from "zod";
import type { ThreadId } from "../../../chat/threads.ts";
import type { ThreadLine } from "../../../operations/finding.ts";
import { isSession } from "../conversations/refs.ts";
import { type Reply, replyProblem } from "../server/http.ts";
import type { Services } from "../services.ts";
import type { ApiCall, Caller } from "./route.ts";

/** Answers for the thread in the address, or says that there is none. */
export async function withThread(
  { operations }: Services,
  { parameters: [id = ""] }: Caller,
  answer: (thread: ThreadId, line: ThreadLine) => Promise<Reply | null> | Reply | null,
): Promise<Reply | null> {
  const line = isSession(id) ? await operations.threads.find(id) : undefined;
  if (!line) return replyProblem(404, "There is no such thread, or it was forgotten after a long silence.");
  return await answer(id, line);
}

export async function withQuery<Query>(
  schema: z.ZodType<Query>,
  { query }: ApiCall,
  answer: (query: Query) => Promise<Reply | null> | Reply | null,
): Promise<Reply | null> {
  const parsed = schema.safeParse(Object.fromEntries(query));
  if (!parsed.success) return replyProblem(400, `The address is wrong: ${z.prettifyError(parsed.error)}`);
  return await answer(parsed.data);
}
