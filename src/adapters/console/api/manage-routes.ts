import { pipeline } from "node:stream/promises";
import { parseThreadId } from "../../../chat/threads.ts";
import type { ExportFormat } from "../../../operations/threads/export.ts";
import { exportArchive } from "../../../operations/threads/export-archive.ts";
import { type Reply, replyJson, replyProblem } from "../server/http.ts";
import { withQuery, withThread } from "./with-thread.ts";
import { type ApiCall, type Route, withBody } from "./route.ts";
import { archived, format, nothing, title } from "./schemas/requests.ts";
import { done } from "./schemas/threads.ts";
import type { Services } from "../services.ts";

/** What is done with a whole thread of any platform. */
export const manageRoutes: readonly Route[] = [
  {
    method: "POST",
    path: "/api/v1/sessions/:thread/title",
    needs: "operate",
    summary: "Gives a thread a title; an empty one gives it its own back",
    body: title.schema,
    answers: done,
    answer: rename,
  },
  {
    method: "POST",
    path: "/api/v1/sessions/:thread/archive",
    needs: "operate",
    summary: "Puts a thread away, or takes it out again",
    body: archived.schema,
    answers: done,
    answer: archive,
  },
  {
    method: "POST",
    path: "/api/v1/sessions/:thread/delete",
    needs: "operate",
    summary: "Deletes a thread with all that belongs to it",
    body: nothing.schema,
    answers: done,
    answer: remove,
  },
  {
    method: "GET",
    path: "/api/v1/sessions/:thread/export",
    needs: "read",
    summary: "A thread as a document, or as a tar archive of both documents and its files",
    query: format,
    answers: "file",
    answer: download,
  },
];

/** It is done. `note`: what the person should know about it. */
export interface Done {
  note?: string;
}

function rename(services: Services, call: ApiCall): Promise<Reply | null> {
  const { operations, conversations } = services;
  return withThread(services, call, (thread) =>
    withBody(call, title, async (body) => {
      await operations.manage.rename(thread, body.title, call.person.author);
      const shown = body.title || (await operations.threads.find(thread))?.title;
      const { platform, thread: id } = parseThreadId(thread);
      if (platform === "local" && shown) await conversations.describe(id, { title: shown });
      return replyJson(200, {} satisfies Done);
    }),
  );
}

function archive(services: Services, call: ApiCall): Promise<Reply | null> {
  const { operations, conversations } = services;
  return withThread(services, call, (thread, line) =>
    withBody(call, archived, async (body) => {
      if (line.state !== "idle")
        return replyProblem(409, "The thread is at work or waits for somebody: stop it first.");
      await operations.manage.archive(thread, body.archived, call.person.author);
      const { platform, thread: id } = parseThreadId(thread);
      if (platform === "local")
        await conversations.describe(id, { archivedAt: body.archived ? Date.now() : null });
      return replyJson(200, {} satisfies Done);
    }),
  );
}

function remove(services: Services, call: ApiCall): Promise<Reply | null> {
  const { operations, conversations } = services;
  return withThread(services, call, (thread) =>
    withBody(call, nothing, async () => {
      const { isDeleted, note } = await operations.manage.remove(thread, call.person.author);
      if (!isDeleted) return replyProblem(409, note ?? "It is still there.");
      const { platform, thread: id } = parseThreadId(thread);
      if (platform === "local") await conversations.forget(id);
      return replyJson(200, (note === undefined ? {} : { note }) satisfies Done);
    }),
  );
}

function download(services: Services, call: ApiCall): Promise<Reply | null> {
  const { operations, files } = services;
  return withThread(services, call, (thread, line) =>
    withQuery(format, call, async ({ format: wanted }): Promise<Reply | null> => {
      const { request, response } = call;
      const name = thread.replaceAll(/[^\w.-]/g, "_");
      const headers = {
        "content-type": "application/octet-stream",
        "content-disposition": `attachment; filename="${name}.${wanted === "markdown" ? "md" : wanted}"`,
        "content-security-policy": "default-src 'none'; sandbox",
      };
      // Nothing is exported.
      if (request.method === "HEAD") return { status: 200, headers };
      response.writeHead(200, headers);
      operations.manage.noteExport(thread, call.person.author);
      const write = (as: ExportFormat) => operations.export(line, as);
      const pieces =
        wanted === "tar"
          ? exportArchive(write, (path) => files.archive(parseThreadId(thread), path), Date.now())
          : write(wanted);
      await pipeline(pieces, response);
      return null;
    }),
  );
}
