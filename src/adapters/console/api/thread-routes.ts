import { z } from "zod";
import { parseThreadId } from "../../../chat/threads.ts";
import { type Reply, replyJson, replyProblem } from "../server/http.ts";
import type { Services } from "../services.ts";
import { mayRead } from "./role-check.ts";
import { type ApiCall, type Caller, type Route, withBody } from "./route.ts";
import { intakeResult } from "./schemas/answers.ts";
import {
  callKey,
  empty,
  follow,
  place,
  queueChange,
  searchQuery,
  threadQuery,
  turn,
} from "./schemas/requests.ts";
import { listEvents, searchPage, threadPage, waitingLine } from "./schemas/threads.ts";
import { callDetails, callList, threadEvents, timelinePage } from "./schemas/timeline.ts";
import { withQuery, withThread } from "./with-thread.ts";

/**
 * Finding, reading, stopping and continuing the threads of all platforms. `:thread` is
 * `platform:workspace:channel:thread`, or the id of a console thread.
 */
export const threadRoutes: readonly Route[] = [
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
        timelineStreams.openList(call, query) ? null : tooManyPages(),
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
    summary: "Takes a waiting message out, or moves it to the front or to another place",
    body: queueChange.schema,
    answers: intakeResult,
    answer: changeQueue,
  },
];

function timeline(services: Services, call: ApiCall): Promise<Reply | null> {
  return withThread(services, call, (thread, line) =>
    withQuery(place, call, async (where) =>
      replyJson(200, { line, ...(await services.operations.threads.timeline(thread, where)) }),
    ),
  );
}

/** Whoever comes back says what they have; the address is still that of their first request. Undefined for no id of ours. */
function resume({ request }: ApiCall, where: z.infer<typeof follow>): z.infer<typeof follow> | undefined {
  const last = String(request.headers["last-event-id"] ?? "");
  if (last === "") return where;
  return /^\d{1,15}$/.test(last) ? { ...where, from: Math.max(where.from, Number(last)) } : undefined;
}

export function events(services: Services, call: ApiCall): Promise<Reply | null> {
  return withThread(services, call, (thread) =>
    withQuery(follow, call, (asked) => {
      const where = resume(call, asked);
      if (!where) return replyProblem(400, "Last-Event-ID: expected the id of an event of this stream.");
      return services.timelineStreams.openThread(call, thread, where) ? null : tooManyPages();
    }),
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
    withBody(call, queueChange, async (order) => {
      // The answer says what waits.
      if (!mayRead(services, call, id))
        return replyProblem(403, "Whoever may not read this direct message cannot change its queue either.");
      const thread = parseThreadId(id);
      const { message } = order;
      const change = order.change === "move" ? `move-${order.place}` : order.change;
      const button = { action: `queue-${change}:${thread.thread}:${message}`, message };
      return replyJson(200, await services.intake.pressAnywhere(thread, button, call.person.author));
    }),
  );
}

function tooManyPages(): Reply {
  return replyProblem(503, "Too many pages are open: close some of them.");
}
