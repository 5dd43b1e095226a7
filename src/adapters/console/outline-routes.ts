import { z } from "zod";
import { replyJson } from "./http.ts";
import { withQuery, withThread } from "./operation-routes.ts";
import type { Route } from "./route.ts";

/**
 * Finding one's way in the journal of a thread of any platform; THREAD as in operation-routes.ts.
 *
 * | request                                    | answer                                              |
 * | ------------------------------------------ | --------------------------------------------------- |
 * | GET /api/sessions/THREAD/outline           | `Outline`: its turns and what has failed            |
 * | GET /api/sessions/THREAD/search?query=TEXT | `{ found, hasMore }`: the first records with the text |
 * | GET /api/sessions/THREAD/spans?turn=TURN   | a list of `TurnSpan`: what took the time of a turn  |
 */
export const outlineRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/api/sessions/:thread/outline",
    answer: (services, call) =>
      withThread(services, call, async (thread) =>
        replyJson(200, await services.operations.outlines.outline(thread)),
      ),
  },
  {
    method: "GET",
    path: "/api/sessions/:thread/search",
    answer: (services, call) =>
      withThread(services, call, (thread) =>
        withQuery(search, call, async ({ query }) =>
          replyJson(200, await services.operations.outlines.search(thread, query)),
        ),
      ),
  },
  {
    method: "GET",
    path: "/api/sessions/:thread/spans",
    answer: (services, call) =>
      withThread(services, call, (thread) =>
        withQuery(turn, call, async (of) =>
          replyJson(200, await services.operations.outlines.spans(thread, of.turn)),
        ),
      ),
  },
];

const search = z.object({ query: z.string().trim().min(1).max(200) });
const turn = z.object({ turn: z.string().min(1).max(100) });
