import type { IncomingMessage, ServerResponse } from "node:http";
import { Arguments } from "./arguments.ts";
import type { Method, MethodContext } from "./method.ts";
import { methods } from "./methods.ts";
import { Refusal } from "./refusal.ts";

/** What goes wrong with a call. All but `lost-response` and `page` happen before anything is done. */
export type Fault =
  /** Nothing: lets a call through before the next fault. */
  | { kind: "pass" }
  | { kind: "rate-limit"; retryAfterSeconds: number }
  /** `ok: false` with that code, with HTTP 200. */
  | { kind: "refuse"; error: string; details?: Record<string, unknown> }
  | { kind: "http"; status: number }
  /** The connection breaks before the call is read. */
  | { kind: "lost-request" }
  /** The work is done and the connection breaks before the answer. */
  | { kind: "lost-response" }
  /**
   * The work is done, and something on the way answers in Slack's place, with 200 and a page. The SDK makes a refusal of
   * it, with the page as its code (`@slack/web-api` 8.2.0, `WebClient.buildResult`).
   */
  | { kind: "page" }
  /** Nothing is answered, and the connection stays. */
  | { kind: "stall" };

const page = "<!DOCTYPE html><title>One moment, please</title>";

/** A call that was received. */
export interface Call {
  method: string;
  args: Record<string, unknown>;
}

interface WebApiOptions extends MethodContext {
  appToken: string;
  appScopes: readonly string[];
  /** Called after every call. */
  onCall(call: Call): void;
}

/** Makes apps. https://docs.slack.dev/app-manifests/configuring-apps-with-app-manifests#config-tokens */
export const configurationToken = "xoxe.xoxp-1-fake-configuration-token";

/** The HTTP side: tokens, scopes, arguments, faults; the methods themselves are in methods.ts. */
export class WebApi {
  readonly calls: Call[] = [];
  readonly #options: WebApiOptions;
  readonly #faults = new Map<string, Fault[]>();
  readonly #refusals = new Map<string, (args: Record<string, unknown>) => string | undefined>();
  /** Where downloads are redirected to. */
  redirectFiles: string | undefined;

  constructor(options: WebApiOptions) {
    this.#options = options;
  }

  /** Lets the next `times` calls of a method fail; `upload` and `download` are those that carry a file, and can stall. */
  fail(method: string, fault: Fault, times: number): void {
    const planned = this.#faults.get(method) ?? [];
    this.#faults.set(method, [...planned, ...Array.from({ length: times }, () => fault)]);
  }

  countFaults(method: string): number {
    return this.#faults.get(method)?.length ?? 0;
  }

  recover(): void {
    this.#faults.clear();
  }

  /** From now on refuses every call of a method for which this gives a code. */
  refuse(method: string, code: (args: Record<string, unknown>) => string | undefined): void {
    this.#refusals.set(method, code);
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, area = "", name = ""] = new URL(request.url ?? "/", "http://fake").pathname.split("/");
    const body = await readBody(request);
    if (area === "upload" && this.#stalls("upload")) return;
    if (area === "files-pri" && this.#stalls("download")) return;
    switch (area) {
      case "api":
        return this.#call(name, request, body, response);
      case "upload":
        return this.#upload(name, request, body, response);
      case "files-pri":
        return this.#download(name, request, response);
      default:
        response.writeHead(404).end();
    }
  }

  /** Whether a transfer is to be left without an answer; only then it is listed among the calls. */
  #stalls(transfer: "upload" | "download"): boolean {
    if (this.#faults.get(transfer)?.shift()?.kind !== "stall") return false;
    const call: Call = { method: transfer, args: {} };
    this.calls.push(call);
    this.#options.onCall(call);
    return true;
  }

  async #call(name: string, request: IncomingMessage, body: Buffer, response: ServerResponse): Promise<void> {
    const args = new Arguments(await readArguments(request.headers["content-type"] ?? "", body));
    const call: Call = { method: name, args: args.shown() };
    this.calls.push(call);
    const fault = this.#faults.get(name)?.shift();
    if (fault?.kind === "stall") {
      // The client waits.
    } else if (fault?.kind === "lost-request") {
      request.socket.destroy();
    } else if (fault?.kind === "rate-limit") {
      response.writeHead(429, { "retry-after": String(fault.retryAfterSeconds) }).end("ratelimited");
    } else if (fault?.kind === "http") {
      response.writeHead(fault.status).end("upstream failed");
    } else {
      const answer =
        fault?.kind === "refuse"
          ? { ok: false, error: fault.error, ...fault.details }
          : this.#run(name, args, request);
      if (fault?.kind === "lost-response") request.socket.destroy();
      else if (fault?.kind === "page") response.writeHead(200, { "content-type": "text/html" }).end(page);
      else this.#answer(response, answer);
    }
    this.#options.onCall(call);
  }

  #run(name: string, args: Arguments, request: IncomingMessage): Record<string, unknown> {
    try {
      const method = methods[name];
      if (!method) throw new Refusal("unknown_method", { req_method: name });
      this.#authorise(method, args, request);
      args.expectOnly((method.args ?? "").split(" "));
      if (method.needsTeam) this.#requireTeam(args);
      const refusal = this.#refusals.get(name)?.(args.shown());
      if (refusal !== undefined) throw new Refusal(refusal);
      return { ok: true, ...method.run(args, this.#options) };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { ok: false, error: error.code, ...error.details };
    }
  }

  /** Slack's codes as the references of such methods have them; without the token of an organisation it ignores the id. */
  #requireTeam(args: Arguments): void {
    const { organisation } = this.#options.workspace;
    if (!organisation) return;
    const team = args.optionalText("team_id");
    if (team === undefined) throw new Refusal("missing_argument");
    if (!organisation.teams.has(team)) throw new Refusal("team_access_not_granted");
  }

  #authorise(method: Method, args: Arguments, request: IncomingMessage): void {
    if (method.token === "none") return;
    const { appToken, appScopes, scopes, workspace, oauth } = this.#options;
    const token = bearer(request) ?? args.optionalText("token");
    if (token === undefined) throw new Refusal("not_authed");
    if (method.token === "configuration") {
      if (token === configurationToken) return;
      throw new Refusal(token.startsWith("xoxe.xoxp-") ? "token_expired" : "not_allowed_token_type");
    }
    const rotating = oauth.tokens.get(token);
    if (rotating === "expired") throw new Refusal("token_expired");
    const botToken = rotating ? token : this.#options.botToken;
    if (token !== botToken && token !== appToken) throw new Refusal("invalid_auth");
    if (token !== (method.token === "bot" ? botToken : appToken)) throw new Refusal("not_allowed_token_type");
    const granted = method.token === "bot" ? scopes : appScopes;
    const channel = workspace.channels.get(args.optionalText("channel") ?? "");
    const needed = typeof method.scope === "object" ? method.scope[channel?.kind ?? "public"] : method.scope;
    if (needed !== undefined && !granted.includes(needed)) {
      throw new Refusal("missing_scope", { needed, provided: granted.join(",") });
    }
  }

  #answer(response: ServerResponse, answer: Record<string, unknown>): void {
    response.writeHead(200, {
      "content-type": "application/json; charset=utf-8",
      "x-oauth-scopes": this.#options.scopes.join(","),
    });
    response.end(JSON.stringify(answer));
  }

  async #upload(id: string, request: IncomingMessage, body: Buffer, response: ServerResponse): Promise<void> {
    const file = this.#options.workspace.files.get(id);
    if (!file) {
      response.writeHead(404).end();
      return;
    }
    const type = request.headers["content-type"] ?? "";
    file.content = type.startsWith("multipart/form-data") ? await firstFile(type, body) : body;
    response.end(`OK - ${file.content.length}`);
  }

  #download(id: string, request: IncomingMessage, response: ServerResponse): void {
    const file = this.#options.workspace.files.get(id);
    const isAllowed =
      bearer(request) === this.#options.botToken && this.#options.scopes.includes("files:read");
    if (!file?.content || !isAllowed) {
      // Slack shows its login page, with status 200.
      response.writeHead(200, { "content-type": "text/html" }).end("<!DOCTYPE html><title>Sign in</title>");
      return;
    }
    if (this.redirectFiles !== undefined) {
      response.writeHead(302, { location: this.redirectFiles }).end();
      return;
    }
    const headers = { "content-type": file.mediaType, "content-disposition": "attachment" };
    response.writeHead(200, headers).end(file.content);
  }
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** A file of a form is given as base64. */
async function readArguments(type: string, body: Buffer): Promise<Record<string, unknown>> {
  if (type.startsWith("multipart/form-data")) {
    const form = await readForm(type, body);
    const values = [...form].map(async ([name, value]) => [
      name,
      typeof value === "string" ? value : Buffer.from(await value.arrayBuffer()).toString("base64"),
    ]);
    return Object.fromEntries(await Promise.all(values)) as Record<string, unknown>;
  }
  if (type.startsWith("application/json")) return JSON.parse(body.toString()) as Record<string, unknown>;
  return Object.fromEntries(new URLSearchParams(body.toString()));
}

function bearer(request: IncomingMessage): string | undefined {
  return /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1];
}

function readForm(type: string, body: Buffer): Promise<FormData> {
  return new Response(new Uint8Array(body), { headers: { "content-type": type } }).formData();
}

async function firstFile(type: string, body: Buffer): Promise<Buffer> {
  const form = await readForm(type, body);
  for (const value of form.values())
    if (typeof value !== "string") return Buffer.from(await value.arrayBuffer());
  throw new Error("The upload holds no file.");
}
