import { basename } from "node:path/posix";
import { parseThreadId, type ThreadRef } from "../../chat/threads.ts";
import type { FileFailure } from "../../sandbox/sandbox.ts";
import { threadExists } from "./conversation-routes.ts";
import { readBody, type Reply, replyDownload, replyJson, replyPreview, replyProblem } from "./http.ts";
import { isSession } from "./operation-routes.ts";
import { consoleThread, isThreadId } from "./refs.ts";
import { type ApiCall, replyNotFound, type Route } from "./route.ts";
import type { Services } from "./services.ts";
import { maxUploadBytes } from "./uploads.ts";

/**
 * Files of threads. ID is a console thread's or, for the workspace, that of a thread of any platform.
 *
 * | request                             | answer                                 |
 * | ----------------------------------- | -------------------------------------- |
 * | GET  /api/threads/ID/files          | `{ entries, truncated }`, the workspace |
 * | GET  /api/threads/ID/file?path=PATH | a file of the workspace                |
 * | GET  /api/threads/ID/uploads/ID     | the file that came with a message      |
 * | GET  …/file?path=PATH&preview=1, …/uploads/ID?preview=1 | the same to be shown: a picture, PDF, HTML or SVG; 204 for others |
 * | POST /api/threads/ID/attachments?name=NAME&type=TYPE | `{ id }`, for the bytes of a file that a message names within the hour; 429 when too many wait |
 */
export const fileRoutes: readonly Route[] = [
  { method: "GET", path: "/api/threads/:thread/files", answer: listFiles },
  { method: "GET", path: "/api/threads/:thread/file", answer: readFile },
  { method: "GET", path: "/api/threads/:thread/uploads/:message", answer: readUpload },
  { method: "POST", path: "/api/threads/:thread/attachments", answer: postAttachment },
];

/** Undefined where nobody has begun such a thread: looking must not make a workspace. */
async function findThread(services: Services, id: string): Promise<ThreadRef | undefined> {
  if (await threadExists(services, id)) return consoleThread(id);
  return isSession(id) && (await services.operations.threads.find(id)) ? parseThreadId(id) : undefined;
}

async function listFiles(services: Services, { parameters: [id = ""] }: ApiCall): Promise<Reply> {
  const place = await findThread(services, id);
  if (!place) return replyNotFound();
  const list = await services.files.list(place);
  return list.ok ? replyJson(200, { entries: list.entries, truncated: list.truncated }) : replyFailure(list);
}

async function readFile(services: Services, { parameters: [id = ""], query }: ApiCall): Promise<Reply> {
  const place = await findThread(services, id);
  if (!place) return replyNotFound();
  const path = query.get("path") ?? "";
  const file = await services.files.read(place, path);
  if (!file.ok) return replyFailure(file);
  if (file.truncated)
    return replyProblem(413, "The file is too large to be sent: ask Heddle for a part of it.");
  return replyFile(basename(path), file.data, query);
}

function replyFile(name: string, data: Buffer, query: URLSearchParams): Reply {
  if (!query.has("preview")) return replyDownload(name, data);
  return replyPreview(name, data) ?? { status: 204 };
}

async function readUpload(services: Services, { parameters, query }: ApiCall): Promise<Reply> {
  const [id = "", message = ""] = parameters;
  if (!(await threadExists(services, id))) return replyNotFound();
  const [found] = await services.conversations.find(id, [message]);
  const data = await services.conversations.file(id, message);
  if (found?.kind !== "file") return replyProblem(404, "There is no such file.");
  if (!data)
    return replyProblem(404, "The console no longer holds this file: look for it in the thread's workspace.");
  return replyFile(found.name, data, query);
}

async function postAttachment({ uploads }: Services, call: ApiCall): Promise<Reply> {
  const {
    request,
    query,
    parameters: [id = ""],
  } = call;
  if (!isThreadId(id)) return replyProblem(404, "There is no such thread.");
  const name = query.get("name") ?? "";
  if (name === "" || name.length > 255)
    return replyProblem(400, "The file needs a name of at most 255 characters.");
  const body = await readBody(request, "application/octet-stream", maxUploadBytes);
  if (!body.ok) return body.reply;
  const mediaType = query.get("type") || "application/octet-stream";
  const kept = await uploads.keep(id, { name, mediaType, data: body.data });
  return kept.ok ? replyJson(200, { id: kept.id }) : replyProblem(429, kept.why);
}

function replyFailure(failure: FileFailure): Reply {
  return replyProblem(failure.reason === "not-found" ? 404 : 409, failure.message);
}
