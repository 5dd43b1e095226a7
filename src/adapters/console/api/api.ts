import type { IncomingMessage, ServerResponse } from "node:http";
import { z } from "zod";
import { acts } from "../../../chat/roles.ts";
import { pinConnection } from "../server/connections.ts";
import { conversationRoutes } from "./conversation-routes.ts";
import { fileRoutes } from "./file-routes.ts";
import { type Reply, replyJson, replyProblem } from "../server/http.ts";
import { signOutPath } from "../server/origin.ts";
import { jobRoutes } from "./job-routes.ts";
import { manageRoutes } from "./manage-routes.ts";
import { questionRoutes } from "./question-routes.ts";
import { reportRoutes } from "./report-routes.ts";
import { threadRoutes } from "./thread-routes.ts";
import { describeApi } from "./openapi.ts";
import { githubAppRoutes } from "./github-app-routes.ts";
import { setupRoutes } from "./setup-routes.ts";
import { outlineRoutes } from "./outline-routes.ts";
import { type ApiCall, matchRoute, replyNotFound, type Route } from "./route.ts";
import { toConsoleId, toWholeThread } from "../conversations/refs.ts";
import { findRefused, refuse } from "./role-check.ts";
import { status as statusSchema } from "./schemas/conversation.ts";
import type { Services, SignedIn } from "../services.ts";

/** Everything below `/api/v1/`. Failures are `{ error }`, one sentence. docs/openapi.json is made from it. */
export const routes: readonly Route[] = [
  {
    method: "POST",
    path: "/api/v1/session",
    needs: "read",
    summary: "Trades the token for a cookie",
    answers: "nothing",
    answer: async ({ authGuard }, { request, by }) => {
      const cookie = await authGuard.signIn(request, by);
      if (cookie === undefined) return replyProblem(400, "Send a token, as Authorization: Bearer.");
      return { status: 204, headers: { "set-cookie": cookie } };
    },
  },
  {
    method: "POST",
    path: "/api/v1/session/end",
    needs: "read",
    summary: "Signs the browser out: its cookie opens nothing any more",
    answers: "nothing",
    answer: async ({ authGuard }, { request, by }) => ({
      status: 204,
      headers: { "set-cookie": await authGuard.signOut(request, by) },
    }),
  },
  {
    method: "GET",
    path: "/api/v1/status",
    needs: "read",
    summary: "What kind of Heddle this is, and who asks",
    answers: statusSchema,
    answer: status,
  },
  {
    method: "GET",
    path: "/api/v1/openapi.json",
    needs: "read",
    summary: "This description",
    answers: z.record(z.string(), z.unknown()),
    answer: () => replyJson(200, describeApi(routes)),
  },
  ...jobRoutes,
  ...conversationRoutes,
  ...fileRoutes,
  ...threadRoutes,
  ...questionRoutes,
  ...reportRoutes,
  ...manageRoutes,
  ...outlineRoutes,
  ...setupRoutes,
  ...githubAppRoutes,
];

async function status(services: Services, { person, by }: ApiCall): Promise<Reply> {
  const { role, author } = person;
  const { id, name } = author;
  const may = acts.filter((act) => services.mayUse(role, act));
  const cookie = by && "cookie" in by ? by : undefined;
  const me: SignedIn = {
    ...{ id, name, role, may },
    byCookie: cookie !== undefined,
    ...(cookie?.isOfProvider && { signOutAt: signOutPath }),
  };
  const connects = me.may.includes("operate") && services.setup.problem() === undefined;
  return replyJson(200, { ...(await services.status()), connects, me });
}

/** Answers a request below `/api/`; null when the response is a stream that stays open. */
export async function answerApi(
  services: Services,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
): Promise<Reply | null> {
  const who = await services.authGuard.authenticate(request);
  if (!who.ok) {
    const { status: code, ...why } = who.refusal;
    return replyJson(code, why);
  }
  pinConnection(response);
  const { person, by } = who;
  const path = toCurrentPath(url.pathname);
  const isHead = request.method === "HEAD";
  const method = isHead ? "GET" : request.method;
  for (const route of routes) {
    const found = route.method === method ? matchRoute(route, path) : undefined;
    if (!found) continue;
    const [thread, ...rest] = found;
    const parameters = thread === undefined ? [] : [toThreadOf(route, thread), ...rest];
    const call = { request, response, query: url.searchParams, parameters, person, by };
    const refusal = refuse(services, route, call);
    if (refusal) return refusal;
    // A stream would have no end.
    if (isHead && typeof route.answers === "object" && "events" in route.answers)
      return { status: 200, headers: { "content-type": "text/event-stream" } };
    const reply = await route.answer(services, call);
    if (reply === null) endWhenRefused(services, route, call);
    return reply;
  }
  return replyNotFound();
}

/** Pages that were opened before an upgrade, and programs of the version before, ask without the version. */
function toCurrentPath(path: string): string {
  return path.startsWith("/api/v1/") ? path : path.replace(/^\/api\//, "/api/v1/");
}

/** A thread as its route knows it, whichever of its two names is given. Other things than threads stay as they are. */
function toThreadOf(route: Route, id: string): string {
  if (takesAnyThread(route)) return toWholeThread(id);
  return conversationRoutes.includes(route) ? toConsoleId(id) : id;
}

/** Whether the first segment with a colon is a thread of any platform. */
function takesAnyThread({ path }: Route): boolean {
  return path.startsWith("/api/v1/sessions/:thread/") || jobRoutes.some((route) => route.path === path);
}

/** Who asks may be gone while a stream is open, or may not see this any more: a token is revoked, the settings change. */
function endWhenRefused(services: Services, route: Route, call: ApiCall): void {
  const { request, response } = call;
  if (response.destroyed || response.writableEnded) return;
  const recheck = async () => {
    const who = await services.authGuard.authenticate(request);
    if (!who.ok || findRefused(services, route, { ...call, person: who.person })) response.destroy();
  };
  // Redis may be away: then the next look decides.
  const timer = setInterval(() => void recheck().catch(() => {}), services.recheckMs).unref();
  response.once("close", () => clearInterval(timer));
}
