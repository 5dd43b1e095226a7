import type { Act } from "../../../chat/roles.ts";
import { isDirect, parseThreadId, type ThreadId, threadId, type ThreadRef } from "../../../chat/threads.ts";
import type { NeedLine, QuestionLine } from "../../../operations/operations.ts";
import { type Reply, replyProblem } from "../server/http.ts";
import { isSession } from "../conversations/refs.ts";
import type { Caller, Route } from "./route.ts";
import type { Services } from "../services.ts";

/**
 * Why the person may not use this address; undefined where they may. Whoever reads direct messages of others is named in
 * the audit log.
 */
export function refuse(services: Services, route: Pick<Route, "needs">, call: Caller): Reply | undefined {
  const refused = findRefused(services, route, call);
  if (refused) return replyProblem(403, explainRefusal(refused, call.person.role));
  const thread = threadOf(call);
  if (route.needs === "read" && thread && isDirect(thread))
    services.operations.manage.noteDirectRead(threadId(thread), call.person.author);
  return undefined;
}

/** What of it the person may not do. */
export function findRefused(
  { mayUse }: Pick<Services, "mayUse">,
  route: Pick<Route, "needs">,
  call: Caller,
): Act | undefined {
  const { role } = call.person;
  const thread = threadOf(call);
  // Work in a thread of a chat platform is for people of that platform, and for operators.
  const act = route.needs === "work" && thread && thread.platform !== "local" ? "operate" : route.needs;
  if (!mayUse(role, act)) return act;
  const isRead = act === "read" && thread !== undefined && isDirect(thread);
  return isRead && !mayUse(role, "read-direct") ? "read-direct" : undefined;
}

/** What the address names first. */
function threadOf({ parameters: [first = ""] }: Caller): ThreadRef | undefined {
  return isSession(first) ? parseThreadId(first) : undefined;
}

const reasons: Record<Act, (role: string) => string> = {
  read: () => "Your role may not read this.",
  oversee: (role) =>
    `Your role here is ${role}: the audit log, the system and metrics are for operators and viewers.`,
  work: (role) => `Your role here is ${role}: you can read, but not write, answer or stop.`,
  operate: (role) => `Your role here is ${role}: only operators may do this.`,
  "read-direct": () =>
    "This is a direct message of somebody else: only roles that access.directMessages names may read it.",
};

/** Why somebody of that role may not do that, as a sentence for them. */
export function explainRefusal(act: Act, role: string): string {
  return reasons[act](role);
}

/** Whether the person may see what is said in that thread, which is noted where it is a direct message. */
export function mayRead({ mayUse, operations }: Services, { person }: Caller, thread: ThreadId): boolean {
  if (!isDirect(parseThreadId(thread))) return true;
  if (!mayUse(person.role, "read-direct")) return false;
  operations.manage.noteDirectRead(thread, person.author);
  return true;
}

/** What is asked in a direct message, for those who may not read it. */
export function hideQuestion<Line extends QuestionLine>(question: Line): Line {
  return {
    ...question,
    ...{ text: "This is asked in a direct message.", call: "", note: "", choices: [], forThread: [] },
  };
}

/** What waits, with what they are asked hidden from those who may not read it. */
export function hideDirect(services: Services, call: Caller, need: NeedLine): NeedLine {
  const { question } = need;
  if (!question || mayRead(services, call, question.thread)) return need;
  return { ...need, question: hideQuestion(question) };
}
