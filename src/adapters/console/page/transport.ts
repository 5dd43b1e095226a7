/** How the page asks its server and follows its streams. A failure is an {@link ApiError} with a sentence for the person. */
import type { NeedSummary } from "../streams/needs-feed.ts";
import { keepWhileSeen } from "./keep-while-seen.ts";

export class ApiError extends Error {
  /** Of HTTP; 0 when nothing answered. */
  readonly status: number;
  /** Where people sign in at a provider, where that is why. */
  readonly signIn: string | undefined;

  constructor(status: number, message: string, provider?: string) {
    super(message);
    this.status = status;
    this.signIn = provider;
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * The answer is not parsed: this server and this page are of one version, and the routes answer with the same types.
 */
export async function request<Answer>(
  method: "GET" | "POST",
  address: string,
  body?: object,
): Promise<Answer> {
  const init: RequestInit = { method };
  if (body instanceof Blob)
    Object.assign(init, { body, headers: { "content-type": "application/octet-stream" } });
  else if (body) Object.assign(init, toJson(body));
  const response = await send(address, init);
  if (!response.ok) throw await readFailure(response);
  return await response.json();
}

/** For what answers with nothing. */
export async function postForNothing(address: string, body: object): Promise<void> {
  const response = await send(address, { method: "POST", ...toJson(body) });
  if (!response.ok) throw await readFailure(response);
}

function toJson(body: object): RequestInit {
  return { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
}

/** Why it was refused, as the server says it. */
export async function readFailure(response: Response): Promise<ApiError> {
  const { status } = response;
  const answer: { error?: string; signIn?: string } | null = await response.json().catch(() => null);
  return new ApiError(status, answer?.error ?? explainStatus(status), answer?.signIn);
}

/** Where no server has said anything: a proxy in front of it answers with a page of its own, and Node with nothing. */
function explainStatus(status: number): string {
  if (status === 408) return "It took too long to send.";
  if (status === 413) return "It is too large for the proxy in front of Heddle.";
  if ([502, 503, 504].includes(status)) return notResponding;
  return `Heddle answered with status ${status}.`;
}

/** After this time without an answer the page asks why, ms. */
const patienceMs = 3_000;

let onDelay: (why: string) => void = () => {};

/** `listener` is told what answers wait for, and an empty text when they have come. */
export function onDelayed(listener: (why: string) => void): void {
  onDelay = listener;
}

/** What people read while nothing answers. */
export const notResponding = "Heddle is not responding. Is it running?";

let onAnswer: () => void = () => {};

/** `listener` is told whenever something has answered. */
export function onAnswered(listener: () => void): void {
  onAnswer = listener;
}

/** Asks the server, and has the person told what the answer waits for. */
export async function send(address: string, init: RequestInit): Promise<Response> {
  let isWaiting = true;
  const explain = async () => {
    const { error }: { error?: string } = await (await fetch("/readyz")).json();
    if (isWaiting && error) onDelay(error);
  };
  // Whether anything answers at all is told by the request itself.
  const timer = setTimeout(() => void explain().catch(() => {}), patienceMs);
  try {
    const response = await fetch(address, init);
    onAnswer();
    return response;
  } catch {
    throw new ApiError(0, notResponding);
  } finally {
    isWaiting = false;
    clearTimeout(timer);
    onDelay("");
  }
}

/** What every stream tells beside its content. */
export interface Connection {
  connected(yes: boolean): void;
  /** The server says that whoever is here has no such stream, or has it no more. */
  refused(): void;
}

/** What waits for people, in short; the first of it where it is much. */
export interface Needs {
  count: number;
  first: NeedSummary[];
}

let tellNeeds: (needs: Needs) => void = () => {};

/** `listener` is told of what waits for people, by whichever stream is open, in this tab or in another. */
export function onNeedsChange(listener: (needs: Needs) => void): void {
  const tabs = new BroadcastChannel("heddle needs");
  tabs.addEventListener("message", ({ data }) => listener(data));
  tellNeeds = (needs) => {
    listener(needs);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has none
    tabs.postMessage(needs);
  };
}

/** The browser connects again by itself after a broken connection, but not after an error; the page then does, ms. */
const reopenMs = 2_500;

/**
 * Whether asking again is in vain. A stream does not say why it was refused; and only the server itself answers in JSON:
 * what a proxy says while Heddle starts anew passes.
 */
async function isDenied(address: string): Promise<boolean> {
  const asking = new AbortController();
  try {
    const { status, headers } = await fetch(address, { signal: asking.signal });
    return [401, 403, 404].includes(status) && headers.get("content-type") === "application/json";
  } catch {
    return false;
  } finally {
    asking.abort();
  }
}

/**
 * Follows a stream of events by their names while somebody sees this tab, and what waits for people with it. Returns what
 * closes it.
 *
 * @param address is given the id of the last event that came, or an empty string
 */
export function watch(
  address: (lastId: string) => string,
  { connected, refused }: Connection,
  events: Record<string, (data: string) => void>,
): () => void {
  let lastId = "";
  return keepWhileSeen(() => {
    let isOpen = true;
    const open = () => {
      const stream = new EventSource(address(lastId));
      for (const [name, act] of Object.entries(events)) {
        stream.addEventListener(name, (event) => {
          lastId = event.lastEventId || lastId;
          act(event.data);
        });
      }
      stream.addEventListener("needs", ({ data }) => tellNeeds(JSON.parse(data)));
      stream.addEventListener("open", () => {
        onAnswer();
        connected(true);
      });
      stream.addEventListener("error", () => {
        connected(false);
        if (stream.readyState === EventSource.CLOSED) setTimeout(() => void reopen(), reopenMs);
      });
      return stream;
    };
    let source = open();
    const reopen = async () => {
      const isInVain = isOpen && (await isDenied(address(lastId)));
      if (!isOpen) return;
      if (isInVain) refused();
      else source = open();
    };
    return () => {
      isOpen = false;
      source.close();
    };
  });
}
