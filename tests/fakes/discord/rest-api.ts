import { setTimeout as delay } from "node:timers/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { z } from "zod";
import type { Limits } from "./limits.ts";
import { Refusal, refusals } from "./refusal.ts";
import { type RouteContext, routes } from "./routes.ts";
import { type FakeFile, type World } from "./world.ts";

/** What goes wrong with a call. All but `lost-response` happen before anything is done. */
export type Fault =
  /** Nothing: lets a call through before the next fault. */
  | { kind: "pass" }
  /** The call is on its way for so long. */
  | { kind: "late"; ms: number }
  | { kind: "rate-limit"; retryAfterSeconds: number; isGlobal?: true }
  | { kind: "refuse"; status: number; code: number; message: string }
  | { kind: "http"; status: number }
  /** The connection breaks before the call is read. */
  | { kind: "lost-request" }
  /** The work is done and the connection breaks before the answer. */
  | { kind: "lost-response" };

/** A call that was received. */
export interface Call {
  /** `POST /channels/1/messages`, without the version. */
  call: string;
  body: unknown;
}

/** The HTTP side: token, limits, bodies, faults; the routes themselves are in routes.ts. */
export class RestApi {
  readonly calls: Call[] = [];
  /** Those that were answered with a refusal, with its code. */
  readonly refused: string[] = [];
  readonly #context: RouteContext;
  readonly #options: { token: string; onCall(): void };
  readonly #faults: { pattern: RegExp; fault: Fault }[] = [];
  readonly #limits: Limits;

  constructor(context: RouteContext, options: { token: string; onCall(): void }) {
    this.#limits = context.limits;
    this.#context = context;
    this.#options = options;
  }

  /** Lets the next `times` calls that match fail. */
  fail(pattern: RegExp, fault: Fault, times: number): void {
    this.#faults.push(...Array.from({ length: times }, () => ({ pattern, fault })));
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://fake");
    const raw = await readBody(request);
    if (url.pathname.startsWith("/attachments/")) {
      download(this.#context.world, url, response);
      return;
    }
    const path = /^\/api\/v10(\/.*)$/.exec(decodeURIComponent(url.pathname))?.[1];
    if (path === undefined) {
      response.writeHead(404).end();
      return;
    }
    const method = request.method ?? "";
    const parsed = await parseBody(request.headers["content-type"] ?? "", raw);
    if (!parsed) {
      send(response, refused(refusals.invalidJson()), {});
      return;
    }
    const { body, files } = parsed;
    const call = `${method} ${path}`;
    this.calls.push({ call, body });
    const at = this.#faults.findIndex(({ pattern }) => pattern.test(call));
    const fault = at >= 0 ? this.#faults.splice(at, 1)[0]?.fault : undefined;
    if (fault?.kind === "late") await delay(fault.ms);
    if (fault?.kind === "lost-request") request.socket.destroy();
    else if (fault?.kind === "http") response.writeHead(fault.status).end("upstream failed");
    else if (fault?.kind === "rate-limit")
      tooSoon(response, fault.retryAfterSeconds * 1_000, {}, fault.isGlobal);
    else {
      const allowance = this.#limits.take(method, path);
      if (allowance.retryAfterMs !== undefined) {
        tooSoon(response, allowance.retryAfterMs, allowance.headers, allowance.isGlobal);
      } else {
        const answer =
          fault?.kind === "refuse"
            ? { status: fault.status, data: { code: fault.code, message: fault.message } }
            : this.#run(method, path, { query: url.searchParams, body, files }, request);
        if (answer.status >= 400) this.refused.push(`${call} ${JSON.stringify(answer.data)}`);
        if (fault?.kind === "lost-response") request.socket.destroy();
        else send(response, answer, allowance.headers);
      }
    }
    this.#options.onCall();
  }

  #run(
    method: string,
    path: string,
    input: { query: URLSearchParams; body: unknown; files: UploadedFile[] },
    request: IncomingMessage,
  ): Answer {
    try {
      for (const route of routes) {
        const match = route.method === method ? route.path.exec(path) : null;
        if (!match) continue;
        const isAuthorised = request.headers.authorization === `Bot ${this.#options.token}`;
        if (!route.isOpen && !isAuthorised) throw refusals.unauthorized();
        const params = match.slice(1);
        const data = route.run({ params, ...input, body: parse(route.body, input.body) }, this.#context);
        return data === undefined ? { status: 204 } : { status: 200, data };
      }
      throw refusals.unknownRoute();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return refused(error);
    }
  }
}

function refused({ status, code, message, details }: Refusal): Answer {
  return { status, data: { code, message, ...details } };
}

interface Answer {
  status: number;
  data?: unknown;
}

export interface UploadedFile {
  name: string;
  mediaType: string;
  content: Buffer;
}

function parse(schema: z.ZodType | undefined, body: unknown): unknown {
  if (!schema) return undefined;
  const { data, error } = schema.safeParse(body ?? {});
  if (error)
    throw refusals.invalidForm({
      _errors: error.issues.map(({ message, path }) => ({ code: path.join("."), message })),
    });
  return data;
}

function send(response: ServerResponse, { status, data }: Answer, headers: Record<string, string>): void {
  response.writeHead(status, {
    ...(data !== undefined && { "content-type": "application/json" }),
    ...headers,
  });
  response.end(data === undefined ? undefined : JSON.stringify(data));
}

function tooSoon(
  response: ServerResponse,
  ms: number,
  headers: Record<string, string>,
  isGlobal = false,
): void {
  const seconds = ms / 1_000;
  const data = { message: "You are being rate limited.", retry_after: seconds, global: isGlobal };
  send(
    response,
    { status: 429, data },
    {
      ...headers,
      "retry-after": String(seconds),
      "x-ratelimit-scope": isGlobal ? "global" : "user",
      ...(isGlobal && { "x-ratelimit-global": "true" }),
    },
  );
}

function download(world: World, url: URL, response: ServerResponse): void {
  const [, , , id = ""] = url.pathname.split("/");
  const file: FakeFile | undefined = world.files.get(id);
  const expires = Number.parseInt(url.searchParams.get("ex") ?? "0", 16) * 1_000;
  if (!file) response.writeHead(404).end("not found");
  else if (expires < Date.now()) response.writeHead(404).end("This content is no longer available.");
  else response.writeHead(200, { "content-type": file.mediaType }).end(file.content);
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Undefined for what is not JSON. */
async function parseBody(
  type: string,
  raw: Buffer,
): Promise<{ body: unknown; files: UploadedFile[] } | undefined> {
  if (!type.startsWith("multipart/form-data")) {
    try {
      return { body: raw.length > 0 ? JSON.parse(raw.toString()) : undefined, files: [] };
    } catch {
      return undefined;
    }
  }
  const form = await new Response(new Uint8Array(raw), { headers: { "content-type": type } }).formData();
  const files: UploadedFile[] = [];
  let body: unknown;
  for (const [name, value] of form) {
    if (typeof value === "string") {
      if (name === "payload_json") body = JSON.parse(value);
    } else {
      files.push({
        name: value.name,
        mediaType: value.type,
        content: Buffer.from(await value.arrayBuffer()),
      });
    }
  }
  return { body, files };
}
