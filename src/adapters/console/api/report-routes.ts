import { replyJson } from "../server/http.ts";
import { mayRead } from "./role-check.ts";
import type { Route } from "./route.ts";
import { auditPage, settingsReport, systemReport, usageReport } from "./schemas/reports.ts";
import { auditQuery, days } from "./schemas/requests.ts";
import { withQuery } from "./with-thread.ts";

/** What Heddle as a whole has used, done and is. */
export const reportRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/api/v1/usage",
    needs: "read",
    summary: "Tokens, cost and turns of the last days",
    query: days,
    answers: usageReport,
    answer: ({ operations }, call) =>
      withQuery(days, call, async (wanted) => replyJson(200, await operations.usage(wanted.days))),
  },
  {
    method: "GET",
    path: "/api/v1/audit",
    needs: "oversee",
    summary: "The newest entries of the audit log that are asked for",
    query: auditQuery,
    answers: auditPage,
    answer: (services, call) =>
      withQuery(auditQuery, call, async (query) =>
        replyJson(200, await services.operations.audit(query, (thread) => mayRead(services, call, thread))),
      ),
  },
  {
    method: "GET",
    path: "/api/v1/system",
    needs: "oversee",
    summary: "Queue, workers, limits, skills and storage",
    answers: systemReport,
    answer: async ({ operations }) => replyJson(200, await operations.system()),
  },
  {
    method: "GET",
    path: "/api/v1/settings",
    needs: "oversee",
    summary: "The settings in force, everywhere and in channels of their own, without secrets",
    answers: settingsReport,
    answer: async ({ operations }) => replyJson(200, await operations.settings()),
  },
];
