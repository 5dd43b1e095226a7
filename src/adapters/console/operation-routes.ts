import { z } from "zod";
import type { Author } from "../../chat/inbound.ts";
import { parseThreadId, type ThreadId } from "../../chat/threads.ts";
import type { NeedLine, QuestionLine, ThreadLine } from "../../operations/operations.ts";
import { type Reply, replyJson, replyProblem } from "./http.ts";
import type { PressedButton } from "./intake.ts";
import { type ApiCall, type Route, withBody } from "./route.ts";
import type { Services } from "./services.ts";

/**
 * The operator's side: the threads of all platforms, which can be read, stopped and continued, and reports. THREAD is `platform:workspace:channel:thread`.
 *
 * | request                                             | answer                                            |
 * | --------------------------------------------------- | ------------------------------------------------- |
 * | GET  /api/sessions[?QUERY]                          | `ThreadPage`, 100 lines by default, with `facets`; QUERY has the fields of `ThreadQuery` |
 * | GET  /api/search?words=WORDS[&QUERY][&after=CURSOR] | `SearchPage`: what was said in these threads; CURSOR is the JSON of the `next` before |
 * | GET  /api/sessions/events[?QUERY]                   | Server-Sent Events, see `TimelineStreams`                 |
 * | GET  /api/sessions/THREAD/timeline[?before=POSITION or ?from=POSITION] | `TimelinePage`: its end, or what is before or from there |
 * | GET  /api/sessions/THREAD/events?from=POSITION      | Server-Sent Events, see `TimelineStreams`                 |
 * | GET  /api/sessions/THREAD/calls?turn=TURN          | `CallList`, the calls of a turn                   |
 * | GET  /api/sessions/THREAD/calls/POSITION.INDEX      | `CallDetails`                                     |
 * | POST /api/sessions/THREAD/stop                      | `IntakeResult`, for `{}`                               |
 * | POST /api/sessions/THREAD/continue                  | `IntakeResult`, for `{}`                               |
 * | GET  /api/sessions/THREAD/queue                     | a list of `WaitingLine`: what no turn has taken, in order |
 * | POST /api/sessions/THREAD/queue                     | `IntakeResult`, for `{ change: "remove" or "first", message }`: an id of that list |
 * | GET  /api/questions                                 | a list of `QuestionLine`, those first whose time is over first |
 * | GET  /api/needs                                     | a list of `Need`: questions, and what a limit has paused |
 * | POST /api/sessions/THREAD/questions/ID              | `IntakeResult`, for `{ decision: "approve" }`, `{ decision: "deny", reason? }`, `{ decision: "answer", choice }` or `{ decision: "answer", text }` |
 * | GET  /api/usage[?days=DAYS]                         | `UsageReport` of the last 1 to 366 days, 14 by default |
 * | GET  /api/audit[?QUERY]                             | `AuditPage`, the newest first; QUERY has the fields of `AuditQuery` |
 * | GET  /api/system                                    | `SystemReport`                                    |
 */
export const operationRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/api/sessions",
    answer: ({ operations }, call) =>
      withQuery(threadQuery, call, async (query) => replyJson(200, await operations.threads.query(query))),
  },
  {
    method: "GET",
    path: "/api/sessions/events",
    answer: ({ timelineStreams }, call) =>
      withQuery(threadQuery, call, (query) =>
        timelineStreams.openList(call.response, query) ? null : tooManyPages(),
      ),
  },
  {
    method: "GET",
    path: "/api/search",
    answer: ({ operations }, call) =>
      withQuery(searchQuery, call, async ({ after, ...query }) =>
        replyJson(200, await operations.threads.search(query, after)),
      ),
  },
  { method: "GET", path: "/api/sessions/:thread/timeline", answer: timeline },
  { method: "GET", path: "/api/sessions/:thread/events", answer: events },
  { method: "GET", path: "/api/sessions/:thread/calls", answer: listCalls },
  { method: "GET", path: "/api/sessions/:thread/calls/:call", answer: findCall },
  { method: "POST", path: "/api/sessions/:thread/stop", answer: stop },
  { method: "POST", path: "/api/sessions/:thread/continue", answer: goOn },
  { method: "GET", path: "/api/sessions/:thread/queue", answer: queue },
  { method: "POST", path: "/api/sessions/:thread/queue", answer: changeQueue },
  {
    method: "GET",
    path: "/api/questions",
    answer: async ({ operations }) => replyJson(200, await operations.questions()),
  },
  { method: "GET", path: "/api/needs", answer: needs },
  { method: "POST", path: "/api/sessions/:thread/questions/:question", answer: decide },
  { method: "GET", path: "/api/usage", answer: usage },
  {
    method: "GET",
    path: "/api/audit",
    answer: ({ operations }, call) =>
      withQuery(auditQuery, call, async (query) => replyJson(200, await operations.audit(query))),
  },
  {
    method: "GET",
    path: "/api/system",
    answer: async ({ operations }) => replyJson(200, await operations.system()),
  },
];

const position = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const from = z.object({ from: position });
const place = z.object({ before: position.exactOptional(), from: position.exactOptional() });
const turn = z.object({ turn: z.string().min(1).max(100) });
const callKey = z.string().regex(/^\d{1,9}\.\d{1,4}$/);
const text = z.string().max(300).optional();
const time = position.optional();
const threadFilter = z.strictObject({
  ...{ words: text, platform: text, channel: text, person: text, model: text, since: time, until: time },
  state: z
    .literal(["running", "asking", "waiting", "paused", "answered", "stopped", "failed", "archived"])
    .optional(),
  minCost: z.coerce.number().min(0).optional(),
});
const threadQuery = threadFilter.extend({
  sort: z.literal(["newest", "oldest", "cost"]).optional(),
  offset: time,
  limit: z.coerce.number().int().min(1).max(500).default(100),
});
const cursor = z.strictObject({
  activeAt: z.number(),
  thread: z.string().max(300),
  position: z.int().min(0),
});
const searchQuery = threadFilter.extend({
  after: z
    .string()
    .max(500)
    .transform((json, context) => {
      try {
        return cursor.parse(JSON.parse(json));
      } catch {
        context.addIssue("expected what the answer before gave as next");
        return z.NEVER;
      }
    })
    .optional(),
});
const auditQuery = z.strictObject({
  ...{ before: time, thread: text, person: text, what: text, since: time, until: time },
});
const days = z.object({ days: z.coerce.number().int().min(1).max(366).default(14) });
const empty = { schema: z.strictObject({}), maxBytes: 100, otherwise: "Nothing was done" };

/** Answers for the thread in the address, or says that there is none. */
export async function withThread(
  { operations }: Services,
  { parameters: [id = ""] }: ApiCall,
  answer: (thread: ThreadId, line: ThreadLine) => Promise<Reply | null> | Reply | null,
): Promise<Reply | null> {
  const line = isSession(id) ? await operations.threads.find(id) : undefined;
  if (!line) return replyProblem(404, "There is no such thread, or it was forgotten after a long silence.");
  return await answer(id, line);
}

/** Whether that may be the id of a thread of any platform. */
export function isSession(id: string): boolean {
  return /^[^:]+(:[^:]+){3}$/.test(id) && id.length <= 300;
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

function events(services: Services, call: ApiCall): Promise<Reply | null> {
  return withThread(services, call, (thread) =>
    withQuery(from, call, (where) =>
      services.timelineStreams.openThread(call.response, thread, where.from) ? null : tooManyPages(),
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
  return withThread(services, call, (thread) =>
    withBody(call, empty, async () =>
      replyJson(200, await services.intake.stop(parseThreadId(thread), services.author)),
    ),
  );
}

function goOn(services: Services, call: ApiCall): Promise<Reply | null> {
  return withThread(services, call, async (thread) => {
    const paused = await services.operations.threads.paused(thread);
    if (!paused)
      return replyProblem(409, "There is nothing to go on with: the work was not paused by a limit.");
    return await withBody(call, empty, async () =>
      replyJson(200, await services.intake.pressAnywhere(parseThreadId(thread), paused, services.author)),
    );
  });
}

function queue(services: Services, call: ApiCall): Promise<Reply | null> {
  return withThread(services, call, async (thread) =>
    replyJson(200, await services.operations.waiting(thread)),
  );
}

const queueChange = {
  schema: z.strictObject({ change: z.literal(["remove", "first"]), message: z.string().min(1).max(200) }),
  maxBytes: 1_000,
  otherwise: "Nothing was changed",
};

function changeQueue(services: Services, call: ApiCall): Promise<Reply | null> {
  return withThread(services, call, (id) =>
    withBody(call, queueChange, async ({ change, message }) => {
      const thread = parseThreadId(id);
      const button = { action: `queue-${change}:${thread.thread}:${message}`, message };
      return replyJson(200, await services.intake.pressAnywhere(thread, button, services.author));
    }),
  );
}

/** What waits for a person. */
export interface Need extends NeedLine {
  /** Only this person can answer it, where they were asked. */
  boundTo?: string;
}

async function needs({ operations, author }: Services): Promise<Reply> {
  const all = (await operations.needs()).map((need): Need => {
    const { question } = need;
    return question && isForAnother(question, author) ? { ...need, boundTo: question.requester } : need;
  });
  return replyJson(200, all);
}

/** What the agent asks one person nobody else answers. */
function isForAnother({ kind, platform, requesterId }: QuestionLine, author: Author): boolean {
  return kind === "choice" && !(platform === "local" && requesterId === author.id);
}

const words = z.string().trim().min(1).max(2_000);
const decision = {
  schema: z.discriminatedUnion("decision", [
    z.strictObject({ decision: z.literal("approve") }),
    z.strictObject({ decision: z.literal("deny"), reason: z.string().max(2_000).exactOptional() }),
    z.strictObject({
      decision: z.literal("answer"),
      choice: z.int().min(0).exactOptional(),
      text: words.exactOptional(),
    }),
  ]),
  maxBytes: 20_000,
  otherwise: "Nothing was decided",
};

/** Decides about a call, or answers what the agent asks somebody at the console. */
function decide(services: Services, call: ApiCall): Promise<Reply | null> {
  const id = call.parameters[1] ?? "";
  return withThread(services, call, async (thread) => {
    const open = await services.operations.questions();
    const found = open.find((question) => question.thread === thread && question.id === id);
    if (!found) return replyProblem(404, "No such question is open: it may have been decided.");
    if (isForAnother(found, services.author))
      return replyProblem(409, `Only ${found.decides} can answer this, in the thread.`);
    return await withBody(call, decision, async (decided) => {
      if ((decided.decision === "answer") !== (found.kind === "choice"))
        return replyProblem(409, "This question is decided in another way.");
      const button = { ...toButton(decided, id), message: id };
      return replyJson(
        200,
        await services.intake.pressAnywhere(parseThreadId(thread), button, services.author),
      );
    });
  });
}

/** As the question's message offers it. */
function toButton(decided: z.infer<typeof decision.schema>, id: string): Omit<PressedButton, "message"> {
  switch (decided.decision) {
    case "approve":
      return { action: `approve:${id}` };
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
