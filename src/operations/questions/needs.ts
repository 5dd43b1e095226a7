import type { Redis } from "ioredis";
import type { Mask } from "../excerpt.ts";
import type { NeedLine, ThreadIndex } from "../operations.ts";
import { type Approvers, listQuestions } from "./questions.ts";

/** Work that a limit paused longer ago is not asked about any more; the list of all threads still has it. */
const pausedForMs = 7 * 86_400_000;

/** All that goes on only when a person does something: open questions first, then what a limit has paused. */
export async function listNeeds(
  redis: Redis,
  threads: Pick<ThreadIndex, "waiting">,
  approvers: Approvers,
  mask: Mask,
  now: number,
): Promise<NeedLine[]> {
  const lines = await threads.waiting(now - pausedForMs);
  const asking = new Map(lines.flatMap((line) => (line.state === "asking" ? [[line.thread, line]] : [])));
  const questions = await listQuestions(redis, approvers, mask, now, [...asking.keys()]);
  return [
    ...questions.flatMap((question) => {
      const line = asking.get(question.thread);
      return line ? [{ id: question.id, line, question }] : [];
    }),
    ...lines.flatMap((line) => (line.state === "asking" ? [] : [{ id: line.thread, line }])),
  ];
}
