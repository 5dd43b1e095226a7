import { type Duplex, pipeline, type Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from "node:zlib";
import type { Dispatcher } from "undici";
import { boundAnswer } from "../network/bounded-answer.ts";
import { answerBytes, openReadable } from "./server-sent-events.ts";

const load = () => import("undici");
/** Loaded with the first request: a start does not wait for it. */
let loaded: ReturnType<typeof load> | undefined;

/**
 * `fetch` for requests whose answer is streamed, at a third of its cost: what Node's does around undici's request (web
 * streams with their locks and queues, copies of all headers) takes as much processor time as the rest of a step.
 *
 * The body of a stream of events is a Readable, for `readServerSentEvents`; every other answer is a whole `Response`.
 * That ends with an error where it is longer than any answer of a model; `readServerSentEvents` does so with events.
 * Errors are those of `fetch`: the signal's reason, or a TypeError whose cause says what happened. Node's own does it
 * where a proxy is named and where the service redirects.
 */
export const streamFetch: typeof fetch = async (address, init = {}) => {
  const { body, signal } = init;
  const isPost = init.method?.toUpperCase() === "POST" && !(address instanceof Request);
  const isProxied = process.env["NODE_USE_ENV_PROXY"] === "1";
  if (!isPost) return boundAnswer(await fetch(address, init), answerBytes);
  if (typeof body !== "string" || isProxied) return bound(await fetch(address, init));
  const { request } = await (loaded ??= load());
  const headers = new Headers(init.headers);
  // Without a word a service may compress, which costs both sides more than it saves.
  headers.set("accept-encoding", "identity");
  // Whoever asks knows for how long a service may be silent.
  const timeouts = { headersTimeout: 0, bodyTimeout: 0 };
  const options = { method: "POST", headers, body, signal: signal ?? null, ...timeouts } as const;
  const answer = await request(address, options).catch((error: unknown) => {
    signal?.throwIfAborted();
    throw new TypeError("fetch failed", { cause: error });
  });
  if (answer.statusCode < 300 || answer.statusCode >= 400) return toResponse(answer);
  // Nobody reads what a redirect says, and it may never end.
  answer.body.on("error", () => undefined).destroy();
  return bound(await fetch(address, init));
};

/** By their names in RFC 9110, section 8.4.1, and RFC 8878. */
const decoders = new Map<string, () => Duplex>([
  ["gzip", createGunzip],
  ["x-gzip", createGunzip],
  ["deflate", createInflate],
  ["br", createBrotliDecompress],
  ["zstd", createZstdDecompress],
]);

/** What a gateway has compressed although it was asked not to. */
function decode(body: Readable, encoding: string | null): Readable {
  const decoder = decoders.get(encoding?.toLowerCase() ?? "")?.();
  // Whoever reads the decoder hears of an error there.
  return decoder ? pipeline(body, decoder, () => undefined) : body;
}

function toResponse({ statusCode: status, headers: told, body: sent }: Dispatcher.ResponseData): Response {
  const headers = new Headers();
  for (const [name, value = ""] of Object.entries(told)) {
    for (const single of [value].flat()) headers.append(name, single);
  }
  const isEmpty = status === 204 || status === 205;
  const body = isEmpty ? sent : decode(sent, headers.get("content-encoding"));
  const isStream = status === 200 && /event-stream/.test(headers.get("content-type") ?? "");
  // What the SDKs look at before they hand it on.
  if (isStream) return { ok: true, status, headers, body } as unknown as Response;
  return bound(new Response(isEmpty ? null : toWeb(body), { status, headers }));
}

/** What is read whole ends where it is too long. Some services call their streams plain text, or nothing. */
function bound(response: Response): Response {
  const isWhole = response.status !== 200 || /json|html/.test(response.headers.get("content-type") ?? "");
  return isWhole ? boundAnswer(response, answerBytes) : response;
}

/** `Readable.toWeb` hands on the errors of undici and of decoders. */
function toWeb(body: Readable): ReadableStream<Uint8Array> {
  const source = openReadable(body);
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await source.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: () => source.cancel(),
    },
    { highWaterMark: 0 },
  );
}
