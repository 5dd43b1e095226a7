/** Everything that the page asks of its server. A failure is an {@link ApiError} with a sentence for the person. */

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export function getStatus() {
  return request("GET", "/api/status");
}

/** `attachments` are ids of files that were sent before. */
export function postMessage(thread, text, key, attachments) {
  return request("POST", `/api/threads/${thread}/messages`, { text, key, attachments });
}

/** Sends a file that a message of the thread is going to name; returns its id. */
export async function sendFile(thread, file) {
  const [name, type] = [file.name.toWellFormed(), file.type].map(encodeURIComponent);
  return (await request("POST", `/api/threads/${thread}/attachments?name=${name}&type=${type}`, file)).id;
}

export function stopThread(thread) {
  return request("POST", `/api/threads/${thread}/stop`, {});
}

/** Presses a button of a message; `text` is what the person wrote when it asks for a sentence. */
export function pressAction(thread, message, action, text) {
  const body = text === undefined ? { action } : { action, text };
  return request("POST", `/api/threads/${thread}/messages/${message}/actions`, body);
}

/** Of a thread of any platform. */
export function listFiles(thread) {
  return request("GET", `/api/threads/${encodeURIComponent(thread)}/files`);
}

export function fileAddress(thread, path) {
  return `/api/threads/${encodeURIComponent(thread)}/file?path=${encodeURIComponent(path.toWellFormed())}`;
}

/** The bytes of the file at that address. */
export async function readFile(address) {
  const response = await ask(address, {});
  if (!response.ok) throw new ApiError(response.status, (await response.json()).error);
  return new Uint8Array(await response.arrayBuffer());
}

export function uploadAddress(thread, message) {
  return `/api/threads/${thread}/uploads/${message}`;
}

/** Trades the token for a cookie that scripts cannot read. */
export function signIn(token) {
  return request("POST", "/api/session", {}, { authorization: `Bearer ${token}` });
}

/**
 * The live stream. The browser connects again by itself after a broken connection, but not after a refusal:
 * `on.refused` is called then. Returns what closes it.
 */
export function connect(thread, on) {
  const names = ["threads", "thread", "conversation", "message", "removed"];
  return watch(thread ? `/api/events?thread=${thread}` : "/api/events", names, on);
}

/** A random id, as the server wants it for threads and for messages. */
export function randomId() {
  // crypto.randomUUID is missing from pages that are served over plain http by another machine.
  return Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
}

async function request(method, address, body, headers = {}) {
  const init = { method, headers };
  if (body) {
    const [type, content] =
      body instanceof Blob ? ["application/octet-stream", body] : ["application/json", JSON.stringify(body)];
    Object.assign(init, { body: content, headers: { ...headers, "content-type": type } });
  }
  const response = await ask(address, init);
  const answer = response.status === 204 ? {} : await response.json();
  if (!response.ok) throw new ApiError(response.status, answer.error);
  return answer;
}

/** An answer that takes longer than this is asked about, ms. */
const patienceMs = 3_000;

let onDelay = () => {};

/** `listener(text)` is told what answers wait for, and an empty text when they have come. */
export function whenDelayed(listener) {
  onDelay = listener;
}

async function ask(address, init) {
  let isWaiting = true;
  const explain = async () => {
    const ready = await fetch("/readyz");
    const { error } = await ready.json();
    if (isWaiting && error) onDelay(error);
  };
  // Whether anything answers at all is told by the request itself.
  const timer = setTimeout(() => void explain().catch(() => {}), patienceMs);
  try {
    return await fetch(address, init);
  } catch {
    throw new ApiError(0, "Heddle does not answer: is it running?");
  } finally {
    isWaiting = false;
    clearTimeout(timer);
    onDelay("");
  }
}

/** The timeline of a thread of any platform: its end, or the page before a position. */
export function sessionTimeline(thread, before) {
  return request("GET", `${sessionPath(thread)}/timeline${before === undefined ? "" : `?before=${before}`}`);
}

export function stopSession(thread) {
  return request("POST", `${sessionPath(thread)}/stop`, {});
}

export function continueSession(thread) {
  return request("POST", `${sessionPath(thread)}/continue`, {});
}

export function getUsage(days) {
  return request("GET", `/api/usage?days=${days}`);
}

/** The list of console threads. */
export function getThreads() {
  return request("GET", "/api/threads");
}

/** The newest entries of the audit log, or those before one. */
export function getAudit(before) {
  return request("GET", `/api/audit${before === undefined ? "" : `?before=${before}`}`);
}

export function getSystem() {
  return request("GET", "/api/system");
}

/** The list of all threads, as it changes. Returns what closes it. */
export function watchSessions(on) {
  return watch("/api/sessions/events", ["sessions"], on);
}

/** What happens in a thread from that position on. Returns what closes it. */
export function watchSession(thread, from, on) {
  return watch(`${sessionPath(thread)}/events?from=${from}`, ["line", "entries", "passing"], on);
}

function sessionPath(thread) {
  return `/api/sessions/${encodeURIComponent(thread)}`;
}

/** The browser connects again by itself after a broken connection, but not after a refusal. */
function watch(address, names, on) {
  const source = new EventSource(address);
  for (const name of names) source.addEventListener(name, (event) => on[name](JSON.parse(event.data)));
  source.addEventListener("open", () => on.connected(true));
  source.addEventListener("error", () => {
    on.connected(false);
    if (source.readyState === EventSource.CLOSED) on.refused();
  });
  return () => source.close();
}
