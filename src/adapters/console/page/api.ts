/** Everything that the page asks of its server, by the addresses of its API. */
import type { WrittenFields } from "../../../agent/server-input.ts";
import type { IntakeResult } from "../../../chat/inbound.ts";
import type {
  AuditPage,
  AuditQuery,
  SearchCursor,
  SearchPage,
  ThreadFacets,
  ThreadPage,
  ThreadQuery,
} from "../../../operations/finding.ts";
import type {
  CallDetails,
  CallList,
  FoundRecord,
  Outline,
  TurnSpan,
} from "../../../operations/operations.ts";
import type { SettingsReport, SystemReport, UsageReport } from "../../../operations/reports.ts";
import type { ThreadLine } from "../../../operations/finding.ts";
import type { TimelinePage, TransientEvent } from "../../../operations/timeline/timeline-entry.ts";
import type { FileEntry } from "../../../sandbox/sandbox.ts";
import type { ConsoleMessage } from "../conversations/console-message.ts";
import type { ThreadSummary } from "../conversations/conversations.ts";
import type { ExportFormat } from "../../../operations/threads/export.ts";
import type { Done } from "../api/manage-routes.ts";
import type { Need } from "../api/question-routes.ts";
import type { ConsoleStatus, SignedIn } from "../services.ts";
import { type Connection, readFailure, request, send, watch } from "./transport.ts";

/** What a person should read of the outcome; empty where the page shows it by itself. */
export function replyOf(outcome: IntakeResult): string {
  if (outcome.kind === "ignored") return `Nothing happened: ${outcome.why}.`;
  return "reply" in outcome ? (outcome.reply ?? "") : "";
}

export function getStatus(): Promise<ConsoleStatus & { connects: boolean; me: SignedIn }> {
  return request("GET", "/api/v1/status");
}

/** `attachments` are ids of files that were sent before. */
export function postMessage(
  thread: string,
  text: string,
  key: string,
  attachments: string[],
): Promise<IntakeResult> {
  return request("POST", `/api/v1/threads/${thread}/messages`, { text, key, attachments });
}

/** Sends a file that a message of the thread is going to name; returns its id. */
export async function sendFile(thread: string, file: File): Promise<string> {
  const [name, type] = [file.name.toWellFormed(), file.type].map(encodeURIComponent);
  const address = `/api/v1/threads/${thread}/attachments?name=${name}&type=${type}`;
  return (await request<{ id: string }>("POST", address, file)).id;
}

/** Keeps a small picture of a file that was sent, to be shown with its message. */
export async function sendThumbnail(thread: string, upload: string, picture: Blob): Promise<void> {
  await request("POST", `/api/v1/threads/${thread}/attachments/${upload}/thumbnail`, picture);
}

export function thumbnailAddress(thread: string, upload: string): string {
  return `/api/v1/threads/${thread}/thumbnails/${upload}`;
}

export function stopThread(thread: string): Promise<IntakeResult> {
  return request("POST", `/api/v1/threads/${thread}/stop`, {});
}

/** Presses a button of a message, with what the person wrote when it asks for a sentence, or put into its form. */
export function pressAction(
  thread: string,
  message: string,
  action: string,
  written: { text?: string; fields?: WrittenFields },
): Promise<IntakeResult> {
  const body = { action, ...written };
  return request("POST", `/api/v1/threads/${thread}/messages/${message}/actions`, body);
}

/** Of a thread of any platform. */
export function listFiles(thread: string): Promise<{ entries: FileEntry[]; truncated: boolean }> {
  return request("GET", `/api/v1/threads/${encodeURIComponent(thread)}/files`);
}

export function fileAddress(thread: string, path: string): string {
  return `/api/v1/threads/${encodeURIComponent(thread)}/file?path=${encodeURIComponent(path.toWellFormed())}`;
}

/** The bytes of the file at that address. */
export async function readFile(address: string): Promise<Uint8Array<ArrayBuffer>> {
  const response = await send(address, {});
  if (!response.ok) throw await readFailure(response);
  return new Uint8Array(await response.arrayBuffer());
}

export function uploadAddress(thread: string, message: string): string {
  return `/api/v1/threads/${thread}/uploads/${message}`;
}

/** Trades the token for a cookie that scripts cannot read. */
export async function signIn(token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  const response = await send("/api/v1/session", { method: "POST", headers });
  if (!response.ok) throw await readFailure(response);
}

/** The cookie opens nothing any more, wherever else it is. */
export async function signOut(): Promise<void> {
  const response = await send("/api/v1/session/end", { method: "POST" });
  if (!response.ok) throw await readFailure(response);
}

export interface ConversationEvents extends Connection {
  threads(all: ThreadSummary[]): void;
  thread(changed: ThreadSummary): void;
  /** `now`: the server's time, ms. */
  conversation(whole: { thread: ThreadSummary | null; messages: ConsoleMessage[]; now: number }): void;
  message(changed: ConsoleMessage): void;
  removed(id: string): void;
  /** A thread that was deleted or put away. */
  gone(id: string): void;
}

/** The live stream of the list, and of a thread. Returns what closes it. */
export function connect(thread: string | null, on: ConversationEvents): () => void {
  return watch(() => (thread ? `/api/v1/events?thread=${thread}` : "/api/v1/events"), on, {
    threads: (data) => on.threads(JSON.parse(data)),
    thread: (data) => on.thread(JSON.parse(data)),
    conversation: (data) => on.conversation(JSON.parse(data)),
    message: (data) => on.message(JSON.parse(data)),
    removed: (data) => on.removed(JSON.parse(data)),
    gone: (data) => on.gone(JSON.parse(data)),
  });
}

/** The timeline of a thread of any platform: its end, or the page before or from a position. */
export function getTimeline(
  thread: string,
  where: { before?: number; from?: number } = {},
): Promise<TimelinePage & { line: ThreadLine }> {
  const query = Object.entries(where).map(([name, position]) => `?${name}=${position}`);
  return request("GET", `${sessionPath(thread)}/timeline${query.join("")}`);
}

export function getOutline(thread: string): Promise<Outline> {
  return request("GET", `${sessionPath(thread)}/outline`);
}

export function searchRecords(
  thread: string,
  query: string,
): Promise<{ found: FoundRecord[]; hasMore: boolean }> {
  return request("GET", `${sessionPath(thread)}/search?query=${encodeURIComponent(query)}`);
}

/** What took the time of a turn. */
export function getSpans(thread: string, turn: string): Promise<TurnSpan[]> {
  return request("GET", `${sessionPath(thread)}/spans?turn=${encodeURIComponent(turn)}`);
}

/** The calls of a turn. */
export function getCalls(thread: string, turn: string): Promise<CallList> {
  return request("GET", `${sessionPath(thread)}/calls?turn=${encodeURIComponent(turn)}`);
}

export function getCall(thread: string, key: string): Promise<CallDetails> {
  return request("GET", `${sessionPath(thread)}/calls/${key}`);
}

export function stopSession(thread: string): Promise<IntakeResult> {
  return request("POST", `${sessionPath(thread)}/stop`, {});
}

export function continueSession(thread: string): Promise<IntakeResult> {
  return request("POST", `${sessionPath(thread)}/continue`, {});
}

/** Gives a thread a title; an empty one gives it its own back. */
export function renameThread(thread: string, title: string): Promise<Done> {
  return request("POST", `${sessionPath(thread)}/title`, { title });
}

export function archiveThread(thread: string, archived: boolean): Promise<Done> {
  return request("POST", `${sessionPath(thread)}/archive`, { archived });
}

/** Deletes a thread with everything that belongs to it. */
export function deleteThread(thread: string): Promise<Done> {
  return request("POST", `${sessionPath(thread)}/delete`, {});
}

export function exportAddress(thread: string, format: ExportFormat | "tar"): string {
  return `${sessionPath(thread)}/export?format=${format}`;
}

/** All that waits for a person. */
export function getNeeds(): Promise<Need[]> {
  return request("GET", "/api/v1/needs");
}

export type QuestionDecision =
  | { decision: "approve"; forThread?: true }
  | { decision: "deny"; reason?: string }
  | { decision: "answer"; choice: number }
  | { decision: "answer"; text: string };

export function decideQuestion(
  thread: string,
  question: string,
  decision: QuestionDecision,
): Promise<IntakeResult> {
  return request("POST", `${sessionPath(thread)}/questions/${encodeURIComponent(question)}`, decision);
}

export function getUsage(days: number): Promise<UsageReport> {
  return request("GET", `/api/v1/usage?days=${days}`);
}

/** The list of console threads. */
export function getThreads(): Promise<ThreadSummary[]> {
  return request("GET", "/api/v1/threads");
}

/** What threads of all platforms can be filtered by. */
export async function getThreadFacets(): Promise<ThreadFacets> {
  const { facets } = await request<{ facets: ThreadFacets }>("GET", "/api/v1/sessions?limit=1");
  return facets;
}

/** The newest entries of the audit log that are asked for. */
export function getAudit(query: AuditQuery): Promise<AuditPage> {
  return request("GET", `/api/v1/audit${toQuery(query)}`);
}

/** What was said in the threads that are asked for. */
export function searchThreads(
  { words = "", ...filter }: ThreadFilter,
  after: SearchCursor | undefined,
): Promise<SearchPage> {
  return request(
    "GET",
    `/api/v1/search${toQuery({ words, ...filter, after: after && JSON.stringify(after) })}`,
  );
}

export type ThreadFilter = Omit<ThreadQuery, "sort" | "offset" | "limit">;

/** What is undefined is left out. */
function toQuery(fields: object): string {
  const given = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return given.length > 0 ? `?${new URLSearchParams(given)}` : "";
}

export function getSystem(): Promise<SystemReport> {
  return request("GET", "/api/v1/system");
}

/** What is configured and in force. */
export function getSettings(): Promise<SettingsReport> {
  return request("GET", "/api/v1/settings");
}

/** A page of the list of all threads, as it changes. Returns what closes it. */
export function watchSessions(
  query: ThreadQuery,
  on: Connection & { sessions(page: ThreadPage): void; facets(facets: ThreadFacets): void },
): () => void {
  return watch(() => `/api/v1/sessions/events${toQuery(query)}`, on, {
    sessions: (data) => on.sessions(JSON.parse(data)),
    facets: (data) => on.facets(JSON.parse(data)),
  });
}

export interface SessionEvents extends Connection {
  line(line: ThreadLine | null): void;
  entries(page: TimelinePage): void;
  passing(news: TransientEvent): void;
}

/** What happens in a thread from that position on. Returns what closes it. */
export function watchSession(thread: string, from: number, on: SessionEvents): () => void {
  return watch((lastId) => `${sessionPath(thread)}/events?from=${lastId || from}`, on, {
    line: (data) => on.line(JSON.parse(data)),
    entries: (data) => on.entries(JSON.parse(data)),
    passing: (data) => on.passing(JSON.parse(data)),
  });
}

function sessionPath(thread: string): string {
  return `/api/v1/sessions/${encodeURIComponent(thread)}`;
}
