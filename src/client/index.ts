/**
 * Hands work to a Heddle over its HTTP API, imported as `heddle/client`. It needs nothing but `fetch`.
 *
 * @module
 */
import type { Decision, FileEntry, Result, Thread, ThreadEvent } from "./types.ts";

export type * from "./types.ts";

export interface ClientOptions {
  /** Where the console is, e.g. `http://127.0.0.1:8420`. */
  url: string;
  /** From `heddle tokens create`; not needed where the console asks for none. */
  token?: string | undefined;
  fetch?: typeof fetch;
}

/** The API refused; `message` is its sentence for people. */
export class HeddleError extends Error {
  override readonly name = "HeddleError";
  /** Of HTTP. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** `key`: the same for every attempt of one request, which then counts once. `signal` ends the waiting, not the work. */
export interface RequestOptions {
  key?: string;
  signal?: AbortSignal;
}

/** After this time a broken stream is opened again, ms. */
const retryMs = 1_000;
/** Tries without an event in between, for as long as a gateway needs to start again; then following ends with the error. */
const mostTries = 30;
/** A gateway says something every 20 s; a connection on which it has not for so long is broken, ms. */
const silentMs = 60_000;
/** A gateway that starts again: what it says itself meanwhile, or a proxy in front of it. */
const passing = [502, 503, 504];

/**
 * @example
 * const heddle = new HeddleClient({ url: "http://127.0.0.1:8420", token: process.env.HEDDLE_TOKEN });
 * const { id } = await heddle.start("Why does the build fail?", { key: "build-4711" });
 * for await (const event of heddle.follow(id)) console.log(event);
 * const { messages } = await heddle.read(id);
 */
export class HeddleClient {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** Starts a thread with its first message. @throws HeddleError */
  start(text: string, options: RequestOptions = {}): Promise<{ id: string; thread: string; result: Result }> {
    return this.#json("POST", "/threads", options, { text });
  }

  /** Writes into a thread; a running turn takes it up. */
  say(thread: string, text: string, options: RequestOptions = {}): Promise<Result> {
    const { key = crypto.randomUUID() } = options;
    return this.#json("POST", `${pathOf(thread)}/messages`, { ...options, key }, { text });
  }

  /** How the thread stands, what it asks and what was said. */
  read(thread: string, options: RequestOptions = {}): Promise<Thread> {
    return this.#json("GET", pathOf(thread), options);
  }

  /** What happens in the thread until nothing runs or waits there; a broken connection is taken up where it was. */
  async *follow(
    thread: string,
    { from = 0, signal }: { from?: number; signal?: AbortSignal } = {},
  ): AsyncGenerator<ThreadEvent, void> {
    let next = from;
    for (let tries = 1; ; tries += 1) {
      try {
        for await (const event of this.#watch(thread, next, signal)) {
          if (event.event === "entries") next = event.id;
          tries = 0;
          yield event;
        }
        return;
      } catch (error) {
        const isFinal = error instanceof HeddleError && !passing.includes(error.status);
        if (signal?.aborted || isFinal || tries >= mostTries) throw error;
        await new Promise((resolve) => setTimeout(resolve, retryMs));
      }
    }
  }

  /** One connection, until nothing runs or waits in the thread. @throws where it breaks before */
  async *#watch(
    thread: string,
    from: number,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<ThreadEvent, void> {
    const silence = watchSilence();
    let isIdle = false;
    try {
      const ends = signal ? AbortSignal.any([signal, silence.signal]) : silence.signal;
      const path = `${pathOf(thread)}/events?until=idle&from=${from}`;
      for await (const event of readEvents(
        await this.#send("GET", path, { signal: ends }),
        silence.restart,
      )) {
        isIdle = event.event === "line" && (event.line === null || event.line.state === "idle");
        yield event;
      }
    } finally {
      silence.close();
    }
    // A proxy may end it in good order, whose gateway has gone.
    if (!isIdle) throw new Error("The stream of events ended before the thread was idle.");
  }

  /** Answers a question, or decides about a call. */
  decide(
    thread: string,
    question: string,
    decision: Decision,
    options: RequestOptions = {},
  ): Promise<Result> {
    const path = `${pathOf(thread)}/questions/${encodeURIComponent(question)}`;
    return this.#json("POST", path, options, decision);
  }

  /** Stops what runs or waits; the receipt is the end of the turn in {@link follow}. */
  stop(thread: string, options: RequestOptions = {}): Promise<Result> {
    return this.#json("POST", `/sessions/${encodeURIComponent(thread)}/stop`, options, {});
  }

  /** The workspace; `truncated` where it has more. */
  files(thread: string, options: RequestOptions = {}): Promise<{ entries: FileEntry[]; truncated: boolean }> {
    return this.#json("GET", `${pathOf(thread)}/files`, options);
  }

  /** A file of the workspace. */
  async file(thread: string, path: string, options: RequestOptions = {}): Promise<Uint8Array> {
    const address = `${pathOf(thread)}/file?path=${encodeURIComponent(path)}`;
    return new Uint8Array(await (await this.#send("GET", address, options)).arrayBuffer());
  }

  async #json<Answer>(method: string, path: string, options: RequestOptions, body?: object): Promise<Answer> {
    const answer: unknown = await (await this.#send(method, path, options, body)).json();
    return answer as Answer; // The server's tests hold it to this type.
  }

  async #send(
    method: string,
    path: string,
    { key, signal }: RequestOptions,
    body?: object,
  ): Promise<Response> {
    const { url, token, fetch: send = fetch } = this.#options;
    const headers = {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body && { "content-type": "application/json" }),
      ...(key !== undefined && { "idempotency-key": key }),
    };
    const response = await send(new URL(`/api/v1${path}`, url), {
      ...{ method, headers },
      ...(body && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
    if (response.ok) return response;
    const answer: unknown = await response.json().catch(() => undefined);
    const isExplained = typeof answer === "object" && answer !== null && "error" in answer;
    const why = isExplained ? String(answer.error) : `Heddle answered with status ${response.status}.`;
    throw new HeddleError(response.status, why);
  }
}

function pathOf(thread: string): string {
  return `/threads/${encodeURIComponent(thread)}`;
}

/** Its signal is aborted when `restart` has not been called for {@link silentMs}. */
function watchSilence(): { signal: AbortSignal; restart(): void; close(): void } {
  const silence = new AbortController();
  const why = `Heddle has said nothing for ${silentMs / 1_000} s.`;
  const wait = () => setTimeout(() => silence.abort(new Error(why)), silentMs);
  let timer = wait();
  const close = () => clearTimeout(timer);
  const restart = () => {
    close();
    timer = wait();
  };
  return { signal: silence.signal, restart, close };
}

/** Of https://html.spec.whatwg.org/multipage/server-sent-events.html what Heddle sends: one line of data an event. */
async function* readEvents(response: Response, restart: () => void): AsyncGenerator<ThreadEvent, void> {
  if (!response.body) return;
  let rest = "";
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    restart();
    const blocks = `${rest}${chunk}`.split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const fields = new Map(block.split("\n").map((line) => splitField(line)));
      const event = toEvent(
        fields.get("event") ?? "",
        fields.get("data") ?? "null",
        Number(fields.get("id")),
      );
      if (event) yield event;
    }
  }
}

function splitField(line: string): [string, string] {
  const at = line.indexOf(": ");
  return [line.slice(0, at), line.slice(at + 2)];
}

function toEvent(event: string, data: string, id: number): ThreadEvent | undefined {
  switch (event) {
    case "entries":
      return { event, id, entries: JSON.parse(data).entries };
    case "line":
      return { event, line: JSON.parse(data) };
    case "passing":
      return { event, ...JSON.parse(data) };
    default:
      return undefined;
  }
}
