import { pipeline } from "node:stream/promises";
import { z } from "zod";
import { parseThreadId } from "../../chat/threads.ts";
import { type Reply, replyJson, replyProblem } from "./http.ts";
import { withQuery, withThread } from "./operation-routes.ts";
import { type ApiCall, type Route, withBody } from "./route.ts";
import type { Services } from "./services.ts";

/**
 * What is done with a whole thread of any platform. THREAD is `platform:workspace:channel:thread`.
 *
 * | request                                           | answer                                              |
 * | ------------------------------------------------- | --------------------------------------------------- |
 * | POST /api/sessions/THREAD/title                   | `Done`, for `{ title }`; an empty one gives it its own back |
 * | POST /api/sessions/THREAD/archive                 | `Done`, for `{ archived }`                          |
 * | POST /api/sessions/THREAD/delete                  | `Done`, for `{}`; 409 while it is at work           |
 * | GET  /api/sessions/THREAD/export?format=FORMAT    | a file to be saved; FORMAT is `markdown` or `json`  |
 */
export const manageRoutes: readonly Route[] = [
  { method: "POST", path: "/api/sessions/:thread/title", answer: rename },
  { method: "POST", path: "/api/sessions/:thread/archive", answer: archive },
  { method: "POST", path: "/api/sessions/:thread/delete", answer: remove },
  { method: "GET", path: "/api/sessions/:thread/export", answer: download },
];

/** It is done. `note`: what the person should know about it. */
export interface Done {
  note?: string;
}

const title = {
  schema: z.strictObject({ title: z.string().trim().max(100) }),
  maxBytes: 1_000,
  otherwise: "The thread was not renamed",
};

function rename(services: Services, call: ApiCall): Promise<Reply | null> {
  const { operations, conversations, author } = services;
  return withThread(services, call, (thread) =>
    withBody(call, title, async (body) => {
      await operations.manage.rename(thread, body.title, author);
      const shown = body.title || (await operations.threads.find(thread))?.title;
      const { platform, thread: id } = parseThreadId(thread);
      if (platform === "local" && shown) await conversations.describe(id, { title: shown });
      return replyJson(200, {} satisfies Done);
    }),
  );
}

const archived = {
  schema: z.strictObject({ archived: z.boolean() }),
  maxBytes: 100,
  otherwise: "The thread was not archived",
};

function archive(services: Services, call: ApiCall): Promise<Reply | null> {
  const { operations, conversations, author } = services;
  return withThread(services, call, (thread, line) =>
    withBody(call, archived, async (body) => {
      if (line.state !== "idle")
        return replyProblem(409, "The thread is at work or waits for somebody: stop it first.");
      await operations.manage.archive(thread, body.archived, author);
      const { platform, thread: id } = parseThreadId(thread);
      if (platform === "local")
        await conversations.describe(id, { archivedAt: body.archived ? Date.now() : null });
      return replyJson(200, {} satisfies Done);
    }),
  );
}

const nothing = { schema: z.strictObject({}), maxBytes: 100, otherwise: "Nothing was deleted" };

function remove(services: Services, call: ApiCall): Promise<Reply | null> {
  const { operations, conversations, author } = services;
  return withThread(services, call, (thread) =>
    withBody(call, nothing, async () => {
      const note = await operations.manage.remove(thread, author);
      if (await operations.threads.find(thread)) return replyProblem(409, note ?? "It is still there.");
      const { platform, thread: id } = parseThreadId(thread);
      if (platform === "local") await conversations.forget(id);
      return replyJson(200, (note === undefined ? {} : { note }) satisfies Done);
    }),
  );
}

const format = z.strictObject({ format: z.literal(["markdown", "json"]) });

function download(services: Services, call: ApiCall): Promise<Reply | null> {
  const { operations, author } = services;
  return withThread(services, call, (thread, line) =>
    withQuery(format, call, async (wanted): Promise<null> => {
      const { response } = call;
      const name = thread.replaceAll(/[^\w.-]/g, "_");
      response.writeHead(200, {
        "content-type": "application/octet-stream",
        "content-disposition": `attachment; filename="${name}.${wanted.format === "json" ? "json" : "md"}"`,
        "content-security-policy": "default-src 'none'; sandbox",
      });
      operations.manage.noteExport(thread, author);
      await pipeline(operations.export(line, wanted.format), response);
      return null;
    }),
  );
}
