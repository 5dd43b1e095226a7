import { z } from "zod";
import type { Author } from "../../chat/inbound.ts";
import { parseThreadId, type ThreadId } from "../../chat/threads.ts";
import type { NeedLine, QuestionLine } from "../../operations/operations.ts";
import type { ThreadLine } from "../../operations/finding.ts";
import { type Reply, replyJson, replyProblem } from "./http.ts";
import type { PressedButton } from "./intake.ts";
import { isSession } from "./refs.ts";
import { hideDirect, hideQuestion, mayRead } from "./role-check.ts";
import { type ApiCall, type Caller, type Route, withBody } from "./route.ts";
import { intakeResult } from "./schemas/common.ts";
import {
  auditQuery,
  callKey,
  days,
  decision,
  empty,
  follow,
  place,
  queueChange,
  searchQuery,
  threadQuery,
  turn,
} from "./schemas/requests.ts";
import { auditPage, systemReport, usageReport } from "./schemas/reports.ts";
import { listEvents, need, questionLine, searchPage, threadPage, waitingLine } from "./schemas/threads.ts";
import { callDetails, callList, threadEvents, timelinePage } from "./schemas/timeline.ts";
import type { Services } from "./services.ts";

/**
 * The operator's side: the threads of all platforms, which can be read, stopped and continued, and reports. `:thread` is
 * `platform:workspace:channel:thread`, or the id of a console thread.
 */
export const operationRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/api/v1/sessions",
    needs: "read",
    summary: "Threads of all platforms, with search and filters",
    query: threadQuery,
    answers: threadPage,
    answer: ({ operations }, call) =>
      withQuery(threadQuery, call, async (query) => replyJson(200, await operations.threads.query(query))),
  },
  {
    method: "GET",
    path: "/api/v1/sessions/events",
    needs: "read",
    summary: "Follows the list of all threads",
    query: threadQuery,
    answers: { events: listEvents },
    answer: ({ timelineStreams }, call) =>
      withQuery(threadQuery, call, (query) =>
        timelineStreams.openList(call.response, query) ? null : tooManyPages(),
      ),
  },
  {
    method: "GET",
    path: "/api/v1/search",
    needs: "read",
    summary: "What was said in the threads that are asked for",
    query: searchQuery,
    answers: searchPage,
    answer: ({ operations }, call) =>
      withQuery(searchQuery, call, async ({ after, ...query }) =>
        replyJson(200, await operations.threads.search(query, after)),
      ),
  },
  {
    method: "GET",
    path: "/api/v1/sessions/:thread/timeline",
    needs: "read",
    summary: "A page of a thread's journal",
    query: place,
    answers: timelinePage,
    answer: timeline,
  },
  {
    method: "GET",
    path: "/api/v1/sessions/:thread/events",
    needs: "read",
    summary: "Follows a thread",
    query: follow,
    answers: { events: threadEvents },
    answer: events,
  },
  {
    method: "GET",
    path: "/api/v1/sessions/:thread/calls",
    needs: "read",
    summary: "The tool calls of a turn",
    query: turn,
    answers: callList,
    answer: listCalls,
  },
  {
    method: "GET",
    path: "/api/v1/sessions/:thread/calls/:call",
    needs: "read",
    summary: "One tool call, with its result",
    answers: callDetails,
    answer: findCall,
  },
  {
    method: "POST",
    path: "/api/v1/sessions/:thread/stop",
    needs: "work",
    summary: "Stops what runs or waits in a thread of any platform",
    body: empty.schema,
    answers: intakeResult,
    answer: stop,
  },
  {
    method: "POST",
    path: "/api/v1/sessions/:thread/continue",
    needs: "work",
    summary: "Goes on with work that a limit has paused",
    body: empty.schema,
    answers: intakeResult,
    answer: goOn,
  },
  {
    method: "GET",
    path: "/api/v1/sessions/:thread/queue",
    needs: "read",
    summary: "Messages that no turn has taken, in order",
    answers: z.array(waitingLine),
    answer: queue,
  },
  {
    method: "POST",
    path: "/api/v1/sessions/:thread/queue",
    needs: "work",
    summary: "Takes a waiting message out, or moves it to the front",
    body: queueChange.schema,
    answers: intakeResult,
    answer: changeQueue,
  },
  {
    method: "GET",
    path: "/api/v1/questions",
    needs: "read",
    summary: "What agents ask people and nobody has decided",
    answers: z.array(questionLine),
    answer: questions,
  },
  {
    method: "GET",
    path: "/api/v1/needs",
    needs: "read",
    summary: "All that goes on only when a person does something",
    answers: z.array(need),
    answer: needs,
  },
  {
    method: "POST",
    path: "/api/v1/sessions/:thread/questions/:question",
    needs: "work",
    summary: "Decides about a call, or answers a question",
    body: decision.schema,
    answers: intakeResult,
    answer: decide,
  },
  {
    method: "GET",
    path: "/api/v1/usage",
    needs: "read",
    summary: "Tokens, cost and turns of the last days",
    query: days,
    answers: usageReport,
    answer: usage,
  },
  {
    method: "GET",
    path: "/api/v1/audit",
    needs: "oversee",
    summary: "The newest entries of the audit log that are asked for",
    query: auditQuery,
    answers: auditPage,
    answer: ({ operations }, call) =>
      withQuery(auditQuery, call, async (query) => replyJson(200, await operations.audit(query))),
  },
  {
    method: "GET",
    path: "/api/v1/system",
    needs: "oversee",
    summary: "Queue, workers, limits, skills and storage",
    answers: systemReport,
    answer: async ({ operations }) => replyJson(200, await operations.system()),
  },
];

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

function timeline(services: Services, call: ApiCall): Promise<Reply | null> {
  return withThread(services, call, (thread, line) =>
    withQuery(place, call, async (where) =>
      replyJson(200, { line, ...(await services.operations.threads.timeline(thread, where)) }),
    ),
  );
}

/** Whoever comes back says what they have; the address is still that of their first request. */
function resume({ request }: ApiCall, where: z.infer<typeof follow>): z.infer<typeof follow> {
  const last = /^\d{1,15}$/.exec(String(request.headers["last-event-id"] ?? ""))?.[0];
  return last === undefined ? where : { ...where, from: Math.max(where.from, Number(last)) };
}

export function events(services: Services, call: ApiCall): Promise<Reply | null> {
  return withThread(services, call, (thread) =>
    withQuery(follow, call, (where) =>
      services.timelineStreams.openThread(call.response, thread, resume(call, where)) ? null : tooManyPages(),
    ),
  );
}

function listCalls(services: Services, call: ApiCall): Promise<Reply | null> {
  return withThread(services, call, (thread) =>
    withQuery(turn, call, async (of) =>
      replyJson(200, await services.operations.calls.list(thread, of.turn)),
    ),
  );
}

function findCall(services: Services, call: ApiCall): Promise<Reply | null> {
  const key = callKey.safeParse(call.parameters[1]);
  return withThread(services, call, async (thread) => {
    const [at = -1, index = -1] = key.success ? key.data.split(".").map(Number) : [];
    const found = key.success && (await services.operations.calls.find(thread, at, index));
    return found ? replyJson(200, found) : replyProblem(404, "There is no such call.");
  });
}

function stop(services: Services, call: ApiCall): Promise<Reply | null> {
  return withThread(services, call, () => withBody(call, empty, () => stopNamedThread(services, call)));
}

/** Stops what runs or waits in the thread that the call's first parameter names. */
export async function stopNamedThread(
  { intake }: Services,
  { parameters: [id = ""], person }: Caller,
): Promise<Reply> {
  return replyJson(200, await intake.stop(parseThreadId(id), person.author));
}

function goOn(services: Services, call: ApiCall): Promise<Reply | null> {
  return withThread(services, call, async (thread) => {
    const paused = await services.operations.threads.paused(thread);
    if (!paused)
      return replyProblem(409, "There is nothing to go on with: the work was not paused by a limit.");
    return await withBody(call, empty, async () =>
      replyJson(200, await services.intake.pressAnywhere(parseThreadId(thread), paused, call.person.author)),
    );
  });
}

function queue(services: Services, call: ApiCall): Promise<Reply | null> {
  return withThread(services, call, async (thread) =>
    replyJson(200, await services.operations.waiting(thread)),
  );
}

function changeQueue(services: Services, call: ApiCall): Promise<Reply | null> {
  return withThread(services, call, (id) =>
    withBody(call, queueChange, async ({ change, message }) => {
      const thread = parseThreadId(id);
      const button = { action: `queue-${change}:${thread.thread}:${message}`, message };
      return replyJson(200, await services.intake.pressAnywhere(thread, button, call.person.author));
    }),
  );
}

/** What waits for a person. */
export interface Need extends NeedLine {
  /** Only this person can answer it, where they were asked. */
  boundTo?: string;
}

async function needs(services: Services, call: ApiCall): Promise<Reply> {
  const { author } = call.person;
  const all = (await services.operations.needs()).map((line): Need => {
    const shown = hideDirect(services, call, line);
    const { question } = shown;
    if (!question) return shown;
    const isBound = shown !== line || isForAnother(question, author);
    return isBound ? { ...shown, boundTo: question.requester } : shown;
  });
  return replyJson(200, all);
}

async function questions(services: Services, call: ApiCall): Promise<Reply> {
  const all = await services.operations.questions();
  return replyJson(
    200,
    all.map((question) => (mayRead(services, call, question.thread) ? question : hideQuestion(question))),
  );
}

/** What the agent asks one person nobody else answers. */
function isForAnother({ kind, platform, requesterId }: QuestionLine, author: Author): boolean {
  return kind === "choice" && !(platform === "local" && requesterId === author.id);
}

/** Decides about a call, or answers what the agent asks somebody at the console. */
export function decide(services: Services, call: ApiCall): Promise<Reply | null> {
  return decideOpenQuestion(services, call, (act) => withBody(call, decision, act));
}

/** The second of the call's parameters names the question. `withDecision` has it decided once it is seen to be open. */
export function decideOpenQuestion(
  services: Services,
  call: Caller,
  withDecision: (act: (decided: Decision) => Promise<Reply>) => Promise<Reply>,
): Promise<Reply | null> {
  const id = call.parameters[1] ?? "";
  return withThread(services, call, async (thread) => {
    const open = await services.operations.questions();
    const found = open.find((question) => question.thread === thread && question.id === id);
    if (!found) return replyProblem(404, "No such question is open: it may have been decided.");
    if (!mayRead(services, call, thread))
      return replyProblem(403, "Whoever may not read this direct message cannot decide about it either.");
    if (isForAnother(found, call.person.author))
      return replyProblem(409, `Only ${found.decides} can answer this, in the thread.`);
    return await withDecision(async (decided) => {
      if ((decided.decision === "answer") !== (found.kind === "choice"))
        return replyProblem(409, "This question is decided in another way.");
      if (decided.decision === "approve" && decided.forThread && found.forThread.length === 0)
        return replyProblem(409, "This call must be approved by itself, not for the whole thread.");
      const button = { ...toButton(decided, id), message: id };
      return replyJson(
        200,
        await services.intake.pressAnywhere(parseThreadId(thread), button, call.person.author),
      );
    });
  });
}

type Decision = z.infer<typeof decision.schema>;

/** As the question's message offers it. */
function toButton(decided: Decision, id: string): Omit<PressedButton, "message"> {
  switch (decided.decision) {
    case "approve":
      return { action: decided.forThread ? `approve-thread:${id}` : `approve:${id}` };
    case "deny":
      return { action: `deny:${id}`, ...(decided.reason !== undefined && { text: decided.reason }) };
    case "answer":
      return decided.choice === undefined
        ? { action: `answer:${id}`, text: decided.text ?? "" }
        : { action: `answer:${id}:${decided.choice}` };
  }
}

function usage({ operations }: Services, call: ApiCall): Promise<Reply | null> {
  return withQuery(days, call, async (wanted) => replyJson(200, await operations.usage(wanted.days)));
}

function tooManyPages(): Reply {
  return replyProblem(503, "Too many pages are open: close some of them.");
}
