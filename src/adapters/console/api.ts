import type { IncomingMessage, ServerResponse } from "node:http";
import { pinConnection } from "./connections.ts";
import { conversationRoutes } from "./conversation-routes.ts";
import { fileRoutes } from "./file-routes.ts";
import { type Reply, replyJson, replyProblem } from "./http.ts";
import { manageRoutes } from "./manage-routes.ts";
import { operationRoutes } from "./operation-routes.ts";
import { outlineRoutes } from "./outline-routes.ts";
import { matchRoute, replyNotFound, type Route } from "./route.ts";
import type { Services } from "./services.ts";

/**
 * Everything below `/api/`. Failures are `{ error }`, one sentence.
 *
 * | request           | answer                                              |
 * | ----------------- | --------------------------------------------------- |
 * | POST /api/session | 204 and a cookie, for `Authorization: Bearer TOKEN` |
 * | GET  /api/status  | `ConsoleStatus`                                     |
 *
 * The rest is in the tables of the files by subject.
 */
export const routes: readonly Route[] = [
  {
    method: "POST",
    path: "/api/session",
    answer: ({ authGuard }, { request }) => ({
      status: 204,
      headers: { "set-cookie": authGuard.cookie(request) },
    }),
  },
  { method: "GET", path: "/api/status", answer: async ({ status }) => replyJson(200, await status()) },
  ...conversationRoutes,
  ...fileRoutes,
  ...operationRoutes,
  ...manageRoutes,
  ...outlineRoutes,
];

/** Answers a request below `/api/`; null when the response is a stream that stays open. */
export async function answerApi(
  services: Services,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
): Promise<Reply | null> {
  const refusal = services.authGuard.authenticate(request);
  if (refusal) return replyProblem(refusal.status, refusal.error);
  pinConnection(response);
  for (const route of routes) {
    const parameters = route.method === request.method ? matchRoute(route, url.pathname) : undefined;
    if (parameters)
      return await route.answer(services, { request, response, query: url.searchParams, parameters });
  }
  return replyNotFound();
}
