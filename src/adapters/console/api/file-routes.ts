import { basename } from "node:path/posix";
import { z } from "zod";
import { parseThreadId, type ThreadRef } from "../../../chat/threads.ts";
import type { FileFailure } from "../../../sandbox/sandbox.ts";
import { threadExists } from "./conversation-routes.ts";
import {
  isPicture,
  readBody,
  type Reply,
  replyDownload,
  replyJson,
  replyPreview,
  replyProblem,
} from "../server/http.ts";
import { consoleThread, isSession, isThreadId } from "../conversations/refs.ts";
import { giveTime } from "../server/connections.ts";
import { type ApiCall, replyNotFound, type Route } from "./route.ts";
import { fileList } from "./schemas/answers.ts";
import type { Services } from "../services.ts";
import { withQuery } from "./with-thread.ts";
import { maxThumbnailBytes, maxUploadBytes } from "../conversations/uploads.ts";

const previewQuery = z.object({
  preview: z.string().optional().describe("to be shown instead of saved; 204 where that is not possible"),
});
const fileQuery = previewQuery.extend({ path: z.string().min(1) });
const attachmentQuery = z.object({ name: z.string(), type: z.string().optional() });

/** Files of threads. `:thread` is a console thread's id or, for the workspace, that of a thread of any platform. */
export const fileRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/api/v1/threads/:thread/files",
    needs: "read",
    summary: "Lists the workspace of a thread",
    answers: fileList,
    answer: listFiles,
  },
  {
    method: "GET",
    path: "/api/v1/threads/:thread/file",
    needs: "read",
    summary: "A file of the workspace",
    query: fileQuery,
    answers: "file",
    answer: readFile,
  },
  {
    method: "GET",
    path: "/api/v1/threads/:thread/uploads/:message",
    needs: "read",
    summary: "The file that came with a message",
    query: previewQuery,
    answers: "file",
    answer: readUpload,
  },
  {
    method: "POST",
    path: "/api/v1/threads/:thread/attachments",
    needs: "work",
    summary: "Keeps a file that a message may name within the hour",
    query: attachmentQuery,
    body: "bytes",
    answers: z.strictObject({ id: z.string() }),
    answer: postAttachment,
  },
  {
    method: "POST",
    path: "/api/v1/threads/:thread/attachments/:upload/thumbnail",
    needs: "work",
    summary: "Keeps a small picture of such a file, to be shown with its message",
    body: "bytes",
    answers: "nothing",
    answer: postThumbnail,
  },
  {
    method: "GET",
    path: "/api/v1/threads/:thread/thumbnails/:upload",
    needs: "read",
    summary: "The small picture of a file that a message has brought",
    answers: "file",
    answer: readThumbnail,
  },
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

async function readFile(services: Services, call: ApiCall): Promise<Reply | null> {
  const place = await findThread(services, call.parameters[0] ?? "");
  if (!place) return replyNotFound();
  return await withQuery(fileQuery, call, async ({ path }) => {
    const file = await services.files.read(place, path);
    if (!file.ok) return replyFailure(file);
    if (file.truncated)
      return replyProblem(413, "The file is too large to be sent: ask Heddle for a part of it.");
    return replyFile(basename(path), file.data, call.query);
  });
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
  // A sender that does not say how much it sends may send the most.
  const bytes = Math.min(Number(request.headers["content-length"] ?? maxUploadBytes), maxUploadBytes);
  const reply = await uploads.receive(bytes, async (givenUp) => {
    giveTime(request, bytes);
    const body = await readBody(request, "application/octet-stream", maxUploadBytes, givenUp);
    if (!body.ok) return body.reply;
    const mediaType = query.get("type") || "application/octet-stream";
    const kept = await uploads.keep(id, { name, mediaType, data: body.data });
    return kept.ok ? replyJson(200, { id: kept.id }) : replyProblem(429, kept.why);
  });
  return reply ?? replyBusy();
}

function replyBusy(): Reply {
  const why =
    "The file was not taken: others are sending large files at the moment. Send it again in a minute.";
  const reply = replyProblem(429, why);
  return { ...reply, headers: { ...reply.headers, "retry-after": "60" } };
}

async function postThumbnail({ uploads }: Services, { request, parameters }: ApiCall): Promise<Reply> {
  const [id = "", upload = ""] = parameters;
  if (!isThreadId(id)) return replyProblem(404, "There is no such thread.");
  const body = await readBody(request, "application/octet-stream", maxThumbnailBytes);
  if (!body.ok) return body.reply;
  if (!isPicture(body.data)) return replyProblem(400, "A thumbnail is a PNG, JPEG, GIF or WebP.");
  const isKept = await uploads.keepThumbnail(id, upload, body.data);
  return isKept ? { status: 204 } : replyProblem(404, "There is no such file that waits for its message.");
}

async function readThumbnail(services: Services, { parameters }: ApiCall): Promise<Reply> {
  const [id = "", upload = ""] = parameters;
  if (!(await threadExists(services, id))) return replyNotFound();
  const data = await services.uploads.readThumbnail(id, upload);
  return (data && replyPreview("", data)) ?? replyProblem(404, "The console no longer holds this picture.");
}

function replyFailure(failure: FileFailure): Reply {
  return replyProblem(failure.reason === "not-found" ? 404 : 409, failure.message);
}
