import type { IncomingMessage, ServerResponse } from "node:http";
import { basename } from "node:path/posix";
import { z } from "zod";
import type { FileEntry, FileFailure, Problem } from "../../sandbox/sandbox.ts";
import type { Author, ThreadRef } from "../adapter.ts";
import { consoleThread, isThreadId } from "./conversations.ts";
import type { Conversations } from "./conversations.ts";
import type { LocalDoor } from "./door.ts";
import type { Gate } from "./gate.ts";
import { download, json, problem, readJson } from "./http.ts";
import type { Reply } from "./http.ts";
import type { LiveStreams } from "./live.ts";

/** The files of a thread's workspace, for people. */
export interface WorkspaceFiles {
  list(thread: ThreadRef): Promise<{ ok: true; entries: FileEntry[]; truncated: boolean } | FileFailure>;
  /** `truncated`: the file is larger than what may be read at once. */
  read(
    thread: ThreadRef,
    path: string,
  ): Promise<{ ok: true; data: Buffer; truncated: boolean } | FileFailure>;
}

/** What a person should know about this Heddle before trusting it with work. */
export interface ConsoleStatus {
  /** `provider/model`. */
  model: string;
  /** Whether the model is the built-in one that only plays prepared scenes. */
  demo: boolean;
  sandbox: { ok: boolean; summary: string; problems: Problem[] };
  /** `url`: from REDIS_URL; `system`: a server that Heddle started; `embedded`: in-process, for development. */
  redis: "url" | "system" | "embedded";
  /** The platforms that are connected. */
  adapters: string[];
}

/** What the API answers from. */
export interface Services {
  conversations: Conversations;
  door: LocalDoor;
  author: Author;
  live: LiveStreams;
  files: WorkspaceFiles;
  gate: Gate;
  status(): Promise<ConsoleStatus>;
}

const maxTextChars = 100_000;
/** Room for that text with every character escaped. */
const maxBodyBytes = 700_000;

const messageBody = z.object({
  text: z
    .string()
    .max(maxTextChars)
    .refine((text) => text.trim() !== "", "expected some text"),
  /** The same for every attempt to send the same message. */
  key: z.string().min(8).max(64),
});

const pressBody = z.object({
  action: z.string().min(1).max(80),
  /** What the person wrote when asked for a sentence. */
  text: z.string().max(4_000).exactOptional(),
});

/**
 * Answers a request below `/api/`; null when the answer is a stream that goes on. Failures are `{ error }`, one
 * sentence. ID is a thread's id: 8 to 32 of `a-z 0-9`, chosen by whoever writes its first message.
 *
 * | request                             | answer                                                         |
 * | ----------------------------------- | -------------------------------------------------------------- |
 * | POST /api/session                   | 204 and a cookie, for `Authorization: Bearer TOKEN`            |
 * | GET  /api/status                    | {@link ConsoleStatus}                                          |
 * | GET  /api/events[?thread=ID]        | Server-Sent Events, see {@link LiveStreams}                    |
 * | GET  /api/threads                   | a list of `ThreadSummary`, newest first                        |
 * | POST /api/threads/ID/messages       | `Verdict`, for `{ text, key }`; a new ID makes a new thread    |
 * | POST /api/threads/ID/messages/ID/actions | `Verdict`, for `{ action }` or `{ action, text }`: a button of the message |
 * | POST /api/threads/ID/stop           | `Verdict`, for `{}`                                            |
 * | GET  /api/threads/ID/files          | `{ entries, truncated }`, the workspace                        |
 * | GET  /api/threads/ID/file?path=PATH | a file of the workspace                                        |
 * | GET  /api/threads/ID/uploads/ID     | the file that came with a message                              |
 */
export async function answerApi(
  services: Services,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
): Promise<Reply | null> {
  const refusal = services.gate.unknown(request);
  if (refusal) return problem(refusal.status, refusal.error);

  const segments = url.pathname.split("/");
  const [id = "", item = ""] = [segments[3], segments[5]];
  const route = segments
    .map((segment, position) => (position === 3 || position === 5 ? "ID" : segment))
    .join("/");

  switch (`${request.method} ${route}`) {
    case "POST /api/session":
      return { status: 204, headers: { "set-cookie": services.gate.cookie(request) } };
    case "GET /api/status":
      return json(200, await services.status());
    case "GET /api/events":
      return stream(services, response, url.searchParams.get("thread"));
    case "GET /api/threads":
      return json(200, await services.conversations.threads());
    case "POST /api/threads/ID/messages":
      return await postMessage(services, request, id);
    default:
      if (!segments[4] || !(await threadExists(services, id)))
        return problem(404, "There is nothing at this address.");
  }

  const thread = consoleThread(id);
  switch (`${request.method} ${route}`) {
    case "POST /api/threads/ID/messages/ID/actions":
      return await press(services, request, thread, item);
    case "POST /api/threads/ID/stop":
      return json(200, await services.door.stop(thread, services.author));
    case "GET /api/threads/ID/files":
      return await listFiles(services, thread);
    case "GET /api/threads/ID/file":
      return await readFile(services, thread, url.searchParams.get("path") ?? "");
    case "GET /api/threads/ID/uploads/ID":
      return await readUpload(services, id, item);
    default:
      return problem(404, "There is nothing at this address.");
  }
}

async function threadExists(services: Services, id: string): Promise<boolean> {
  return isThreadId(id) && (await services.conversations.thread(id)) !== null;
}

function stream(services: Services, response: ServerResponse, thread: string | null): Reply | null {
  if (thread !== null && !isThreadId(thread)) return problem(404, "There is no such thread.");
  if (services.live.open(response, thread)) return null;
  return problem(503, "Too many pages are open: close some of them.");
}

async function postMessage(services: Services, request: IncomingMessage, id: string): Promise<Reply> {
  if (!isThreadId(id)) return problem(404, "There is no such thread.");
  const body = await readJson(request, maxBodyBytes);
  if (!body.ok) return body.reply;
  const message = messageBody.safeParse(body.value);
  if (!message.success) return problem(400, `The message was not taken: ${z.prettifyError(message.error)}`);
  const { text, key } = message.data;
  return json(200, await services.door.say(consoleThread(id), text, services.author, key));
}

async function press(
  services: Services,
  request: IncomingMessage,
  thread: ThreadRef,
  message: string,
): Promise<Reply> {
  const body = await readJson(request, maxBodyBytes);
  if (!body.ok) return body.reply;
  const pressed = pressBody.safeParse(body.value);
  if (!pressed.success) return problem(400, `The button was not pressed: ${z.prettifyError(pressed.error)}`);
  return json(200, await services.door.press(thread, { message, ...pressed.data }, services.author));
}

async function listFiles(services: Services, thread: ThreadRef): Promise<Reply> {
  const list = await services.files.list(thread);
  return list.ok ? json(200, { entries: list.entries, truncated: list.truncated }) : fileProblem(list);
}

async function readFile(services: Services, thread: ThreadRef, path: string): Promise<Reply> {
  const file = await services.files.read(thread, path);
  if (!file.ok) return fileProblem(file);
  if (file.truncated) return problem(413, "The file is too large to be sent: ask Heddle for a part of it.");
  return download(basename(path), file.data);
}

async function readUpload(services: Services, thread: string, message: string): Promise<Reply> {
  const [found] = await services.conversations.find(thread, [message]);
  const data = await services.conversations.file(thread, message);
  if (found?.kind !== "file" || !data) return problem(404, "There is no such file.");
  return download(found.name, data);
}

function fileProblem(failure: FileFailure): Reply {
  return problem(failure.reason === "not-found" ? 404 : 409, failure.message);
}
