import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { parseExactJson } from "../agent/text/exact-json.ts";
import { isJsonTooDeep, mostLevels } from "../agent/text/nesting.ts";
import { dropByteOrderMark, parseJson } from "../agent/text/text.ts";
import { inboundServerOptions, largestInboundBody, limitConnections } from "../chat/inbound-requests.ts";
import { SurfaceError } from "../chat/surface.ts";
import type { TriggerSettings } from "../config/triggers.ts";
import { isOutOfMemory } from "../queue/redis/out-of-memory.ts";
import { createFeedbackReceiver, type FeedbackSource, isAbout, proofOf } from "./feedback.ts";
import { type EventResult } from "./put-into-thread.ts";
import { createEventReceiver, type GenuineEvent, type ReleaseOptions } from "./receive-event.ts";
import { releaseAfterQuietHours } from "./release-held.ts";
import {
  findSlackChallenge,
  type HookRequest,
  isGenuine,
  nameDelivery,
  type Proof,
  readHeader,
} from "./verify.ts";

/** Receives webhooks at `POST /hooks/<name>`. */
export interface Hooks {
  readonly port: number;
  close(): Promise<void>;
}

export interface HookOptions extends ReleaseOptions {
  host: string;
  /** 0 takes a free one. */
  port: number;
  /** `secret` is missing where the environment lacks it: the trigger takes nothing then. */
  triggers: ReadonlyMap<string, TriggerSettings & { secret: string | undefined }>;
  /** The repositories whose hosts tell what became of pull requests, at `POST /hooks/repository/<name>`. */
  repositories?: ReadonlyMap<string, FeedbackSource & { secret: string | undefined }>;
  /** Answers requests below `/connect/`. */
  pages?(request: IncomingMessage): Promise<Page>;
  /** The GitHub App's own webhook, at `POST /hooks/app/github`, for all of these repositories. */
  app?: { secret(): Promise<string | undefined>; sources: readonly FeedbackSource[] };
  /** How long an event may take to be put into its thread, ms. */
  answerMs?: number;
  /** How long `close` waits for requests that have not ended, ms. */
  graceMs?: number;
}

/**
 * So much of a body that is too large is read and dropped before it is refused: a connection that is closed on what its
 * sender still sends is reset, and the answer lost. GitHub sends 25 MB at most
 * (https://docs.github.com/en/webhooks/webhook-events-and-payloads#payload-cap). The time is bounded by how long a request
 * may take to arrive.
 */
const mostReadBytes = 26_214_400;
/**
 * GitHub gives up after ten seconds. The work gives up by itself a second before, but for what is asked of a platform that
 * does not answer.
 */
const answerMs = 9_000;
/** How long the end of the gateway waits for requests that are being answered, ms. */
const graceMs = 2_000;

/** An answer for a browser. */
interface Page {
  status: number;
  headers: Record<string, string>;
  body: string;
}

interface Answer {
  status: number;
  body: object;
  headers?: Record<string, string>;
}

/** @throws Error with a sentence for the operator where it cannot listen */
export async function openHooks(options: HookOptions): Promise<Hooks> {
  const answer = createAnswer(options);
  const server = createServer(inboundServerOptions, (request, response) => {
    if (options.pages && request.url?.startsWith("/connect/")) {
      void answerPage(options.pages(request), response, options);
      return;
    }
    void answer(request).then(
      (given) => send(response, given),
      (error: unknown) => {
        options.onProblem("A webhook could not be taken.", error);
        send(response, unavailable);
      },
    );
  });
  limitConnections(server);
  try {
    server.listen(options.port, options.host);
    await once(server, "listening");
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : String(cause);
    throw new Error(
      `Webhooks cannot be received on ${options.host}:${options.port} (${code}): correct hooks.host or hooks.port in heddle.yaml.`,
      { cause },
    );
  }
  const releasing = releaseAfterQuietHours(options, options.triggers);
  const bound = server.address();
  return {
    port: typeof bound === "object" && bound ? bound.port : options.port,
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeIdleConnections();
      // A closing server checks no times: without this a sender who stops in the middle would hold up the end.
      const late = setTimeout(() => server.closeAllConnections(), options.graceMs ?? graceMs);
      await Promise.all([closed, releasing.close()]);
      clearTimeout(late);
    },
  };
}

async function answerPage(
  made: Promise<Page>,
  response: ServerResponse,
  { onProblem, confirm }: Pick<HookOptions, "onProblem" | "confirm">,
): Promise<void> {
  try {
    const { status, headers, body } = await confirm(made);
    response.writeHead(status, headers);
    response.end(body);
  } catch (error) {
    onProblem("A page could not be answered.", error);
    response.writeHead(503, { "content-type": "text/plain; charset=utf-8", "retry-after": "10" });
    response.end("This cannot be done now. Try again in a moment.\n");
  }
}

const unavailable: Answer = {
  status: 503,
  body: { error: "Not taken: send it again later." },
  headers: { "retry-after": "10" },
};

/** What takes the events of one address. */
interface Receiver {
  proof: Proof;
  secret: string | undefined | (() => Promise<string | undefined>);
  /** For the log. */
  what: string;
  receive(event: GenuineEvent): Promise<EventResult>;
}

function createAnswer(options: HookOptions): (request: IncomingMessage) => Promise<Answer> {
  const receiveEvent = createEventReceiver(options);
  const receiveFeedback = createFeedbackReceiver(options);
  const find = (path: string): Receiver | undefined => {
    const [, name, repository] = /^\/hooks\/(?:([^/]+)|repository\/([^/]+))$/.exec(path) ?? [];
    const trigger = name === undefined ? undefined : options.triggers.get(name);
    if (name !== undefined && trigger) {
      const receive = (event: GenuineEvent) => receiveEvent(name, trigger, event);
      return { proof: trigger, secret: trigger.secret, what: `the trigger ${name}`, receive };
    }
    const { app } = options;
    if (path === "/hooks/app/github" && app) {
      const receive = async (event: GenuineEvent): Promise<EventResult> => {
        const source = app.sources.find((one) => isAbout(one, event));
        return source ? await receiveFeedback(source, event) : { kind: "ignored" };
      };
      return { proof: { verify: "github" }, secret: app.secret, what: "the GitHub App", receive };
    }
    const source = repository === undefined ? undefined : options.repositories?.get(repository);
    if (!source) return undefined;
    const receive = (event: GenuineEvent) => receiveFeedback(source, event);
    const { secret } = source;
    return { proof: proofOf(source, secret ?? ""), secret, what: source.repository, receive };
  };
  return async (request) => {
    const receiver = find((request.url ?? "").split("?")[0] ?? "");
    if (!receiver) return refuse(404, "There is no trigger at this address.");
    if (request.method !== "POST") return refuse(405, "Send a POST request.", { allow: "POST" });
    const { proof, what } = receiver;
    const secret = typeof receiver.secret === "function" ? await receiver.secret() : receiver.secret;
    if (secret === undefined) return unavailable;
    const event = await readEvent(request, proof, secret, options.now());
    if ("status" in event) return event;
    try {
      const taken = options.confirm(receiver.receive(event));
      return await within(options.answerMs ?? answerMs, taken.then(toAnswer), () => {
        options.onProblem(
          `An event of ${what} was not taken, since a service that it needs does not answer.`,
        );
        return unavailable;
      });
    } catch (error) {
      const why = error instanceof SurfaceError ? ` ${error.message}` : "";
      const full = isOutOfMemory(error) ? ", since Redis is full" : "";
      options.onProblem(`An event of ${what} was not taken${full}.${why}`, error);
      return unavailable;
    }
  };
}

/** The event, once its origin is proven, or the answer to what is none. */
async function readEvent(
  request: IncomingMessage,
  proof: Receiver["proof"],
  secret: string,
  now: number,
): Promise<GenuineEvent | Answer> {
  const body = await readBody(request).catch(() => "broken" as const);
  if (body === "broken") return refuse(400, "The body did not arrive.");
  if (!body) return refuse(413, "The body has more than 1 MiB.", { connection: "close" });
  const sent: HookRequest = { headers: request.headers, body };
  if (!isGenuine(proof, secret, sent, now)) return refuse(401, "The proof of origin is wrong.");
  const json = dropByteOrderMark(body.toString("utf8"));
  if (isJsonTooDeep(json)) return refuse(400, `The body is nested more than ${mostLevels} levels deep.`);
  const payload = parseJson(json, parseExactJson);
  if (payload === undefined)
    return refuse(400, "The body is not JSON: choose application/json where it is sent.");
  const kind = readKind(sent);
  // GitHub's greeting of a new webhook.
  if (proof.verify === "github" && kind === "ping") return { status: 200, body: { result: "pong" } };
  const challenge = proof.verify === "slack" ? findSlackChallenge(payload) : undefined;
  if (challenge !== undefined) return { status: 200, body: { challenge } };
  return { kind, payload, delivery: nameDelivery(proof, sent, payload) };
}

/** The outcome of the work, or `late` after a time. The work goes on: the delivery is repeated, and counts once. */
async function within<T>(ms: number, work: Promise<T>, late: () => T): Promise<T> {
  const { promise: isLate, resolve } = Promise.withResolvers<"late">();
  const timer = setTimeout(() => resolve("late"), ms);
  try {
    const first = await Promise.race([work.then((outcome) => ({ outcome })), isLate]);
    return first === "late" ? late() : first.outcome;
  } finally {
    clearTimeout(timer);
  }
}

function toAnswer(result: EventResult): Answer {
  switch (result.kind) {
    case "accepted":
      return { status: 200, body: { result: "accepted", thread: result.thread } };
    case "duplicate":
      return { status: 202, body: { result: "duplicate", thread: result.thread } };
    case "held": {
      const until = new Date(result.until).toISOString();
      return { status: result.isNew ? 200 : 202, body: { result: "held", until } };
    }
    case "ignored":
      return { status: 200, body: { result: "ignored" } };
    case "dropped":
      return { status: 200, body: { result: "dropped", why: result.why } };
    case "forbidden":
      return refuse(403, "Whoever the trigger acts for may not give work there.");
    case "too-many":
      return refuse(429, "Too many events.", { "retry-after": String(result.retryAfterSeconds) });
  }
}

function refuse(status: number, error: string, headers?: Record<string, string>): Answer {
  return { status, body: { error }, ...(headers && { headers }) };
}

function send(response: ServerResponse, { status, body, headers }: Answer): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(`${JSON.stringify(body)}\n`);
}

/** The bytes as they came; undefined where there are too many. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  if (Number(request.headers["content-length"] ?? 0) > mostReadBytes) return undefined;
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request.iterator({ destroyOnReturn: false })) {
    if (!Buffer.isBuffer(part)) continue;
    bytes += part.length;
    if (bytes > mostReadBytes) return undefined;
    if (bytes > largestInboundBody) parts.length = 0;
    else parts.push(part);
  }
  return bytes > largestInboundBody ? undefined : Buffer.concat(parts);
}

const kindHeaders = [
  ...["x-github-event", "x-gitlab-event", "x-gitea-event", "x-forgejo-event"],
  // https://docs.sentry.io/integrations/integration-platform/webhooks/: its `action` alone is "created" for many.
  "sentry-hook-resource",
];

function readKind({ headers }: HookRequest): string {
  return kindHeaders.map((name) => readHeader(headers, name)).find(Boolean) ?? "";
}
