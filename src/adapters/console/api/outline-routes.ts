import { z } from "zod";
import { replyJson } from "../server/http.ts";
import { withQuery, withThread } from "./with-thread.ts";
import type { Route } from "./route.ts";
import { searchText as search, turn } from "./schemas/requests.ts";
import { foundRecords, outline, turnSpan } from "./schemas/timeline.ts";

/** Finding one's way in the journal of a thread of any platform. */
export const outlineRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/api/v1/sessions/:thread/outline",
    needs: "read",
    summary: "The turns of a thread, and what has failed",
    answers: outline,
    answer: (services, call) =>
      withThread(services, call, async (thread) =>
        replyJson(200, await services.operations.outlines.outline(thread)),
      ),
  },
  {
    method: "GET",
    path: "/api/v1/sessions/:thread/search",
    needs: "read",
    summary: "The first records of a thread with that text",
    query: search,
    answers: foundRecords,
    answer: (services, call) =>
      withThread(services, call, (thread) =>
        withQuery(search, call, async ({ query }) =>
          replyJson(200, await services.operations.outlines.search(thread, query)),
        ),
      ),
  },
  {
    method: "GET",
    path: "/api/v1/sessions/:thread/spans",
    needs: "read",
    summary: "What took the time of a turn",
    query: turn,
    answers: z.array(turnSpan),
    answer: (services, call) =>
      withThread(services, call, (thread) =>
        withQuery(turn, call, async (of) =>
          replyJson(200, await services.operations.outlines.spans(thread, of.turn)),
        ),
      ),
  },
];
