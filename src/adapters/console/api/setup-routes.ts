import { type Reply, replyJson, replyProblem } from "../server/http.ts";
import { readSetup } from "../streams/setup-streams.ts";
import type { Services } from "../services.ts";
import { type ApiCall, type Route, withBody } from "./route.ts";
import { setupAnswer, setupBegin, setupEnd, setupRun, setupState } from "./schemas/setup.ts";

/** The set-up, gone through at the console: what `heddle setup` asks at a terminal. */
export const setupRoutes: readonly Route[] = [
  {
    ...{ method: "GET", path: "/api/v1/setup", needs: "operate" },
    summary: "How the set-up stands",
    answers: setupState,
    answer: ({ setup }) => replyJson(200, readSetup(setup)),
  },
  {
    ...{ method: "GET", path: "/api/v1/setup/events", needs: "operate" },
    summary: "Follows the set-up",
    answers: { events: { setup: setupState } },
    answer: ({ setupStreams }, call) =>
      setupStreams.open(call) ? null : replyProblem(503, "Too many pages are open."),
  },
  {
    ...{ method: "POST", path: "/api/v1/setup", needs: "operate", status: 201 },
    summary: "Begins to go through steps of the set-up; one run at a time",
    body: setupBegin.schema,
    answers: setupRun,
    answer: begin,
  },
  {
    ...{ method: "POST", path: "/api/v1/setup/answers", needs: "operate" },
    summary: "Answers the question that the set-up asks",
    body: setupAnswer.schema,
    answers: "nothing",
    answer,
  },
  {
    ...{ method: "POST", path: "/api/v1/setup/end", needs: "operate" },
    summary: "Ends the set-up; what was saved stays",
    body: setupEnd.schema,
    answers: "nothing",
    answer: end,
  },
];

function begin({ setup }: Services, call: ApiCall): Promise<Reply> {
  return withBody(call, setupBegin, async ({ steps }) => {
    const problem = setup.problem();
    if (problem !== undefined) return replyProblem(409, problem);
    const run = setup.begin(steps, call.person.author);
    if (run) return replyJson(201, run);
    const name = setup.current()?.by.name ?? "Somebody";
    return replyProblem(409, `${name} goes through the set-up at the moment.`);
  });
}

function answer({ setup }: Services, call: ApiCall): Promise<Reply> {
  return withBody(call, setupAnswer, async (body) => {
    const refusal = setup.answer(body, call.person.author);
    return refusal === undefined ? { status: 204 } : replyProblem(409, refusal);
  });
}

function end({ setup }: Services, call: ApiCall): Promise<Reply> {
  return withBody(call, setupEnd, async ({ run }) =>
    setup.end(run) ? { status: 204 } : replyProblem(409, "This set-up has ended already."),
  );
}
