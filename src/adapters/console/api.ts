import type { IncomingMessage, ServerResponse } from "node:http";
import { conversationRoutes } from "./conversation-routes.ts";
import { fileRoutes } from "./file-routes.ts";
import { json, problem } from "./http.ts";
import type { Reply } from "./http.ts";
import { operationRoutes } from "./operation-routes.ts";
import { nothingHere, parametersOf, type Route } from "./route.ts";
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
    answer: ({ gate }, { request }) => ({ status: 204, headers: { "set-cookie": gate.cookie(request) } }),
  },
  { method: "GET", path: "/api/status", answer: async ({ status }) => json(200, await status()) },
  ...conversationRoutes,
  ...fileRoutes,
  ...operationRoutes,
];

/** Answers a request below `/api/`; null when the answer is a stream that goes on. */
export async function answerApi(
  services: Services,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
): Promise<Reply | null> {
  const refusal = services.gate.unknown(request);
  if (refusal) return problem(refusal.status, refusal.error);
  for (const route of routes) {
    const parameters = route.method === request.method ? parametersOf(route, url.pathname) : undefined;
    if (parameters)
      return await route.answer(services, { request, response, query: url.searchParams, parameters });
  }
  return nothingHere();
}
