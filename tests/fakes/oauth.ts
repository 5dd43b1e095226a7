import { createHash, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, request as httpRequest, type ServerResponse } from "node:http";
import { closeServer, listen } from "./listen.ts";

/**
 * A resource server and its authorization server in one, as the protocol has them
 * (https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization). It stands before an MCP server and
 * refuses what these refuse: requests without a token (RFC 6750, 3.1, with the address of RFC 9728, 5.1), unknown
 * clients and redirects that they have not registered (RFC 6749, 4.1.2.1), codes without their verifier (RFC 7636, 4.6) or used twice
 * (RFC 6749, 4.1.2), tokens for other resources (RFC 8707), refresh tokens used twice (OAuth 2.1 draft, 4.3.1).
 */
export interface FakeOAuth {
  /** Address of the MCP server behind it. */
  readonly mcp: string;
  readonly origin: string;
  /** Plays a person who signs in at that address and agrees: where the browser is sent. @param account whose it is */
  agree(authorizationUrl: string, account?: string): Promise<string>;
  /** Ends all access tokens. */
  expireTokens(): void;
  /** Ends all refresh tokens as well. @param account only of that one */
  revoke(account?: string): void;
  /** From here on it answers no renewal: by silence, by sending the client elsewhere, or without an end. */
  hush(how: "silence" | "redirect" | "flood" | undefined): void;
  /** How often a token was renewed. */
  readonly renewals: number;
  /** Bytes that it has sent of answers without an end. */
  readonly flooded: number;
  /** How often a client has followed it to `/elsewhere`. */
  readonly followed: number;
  /** All tokens that were given out. */
  readonly tokens: readonly string[];
  /** What clients have said of themselves when they registered (RFC 7591, 2). */
  readonly registrations: readonly Record<string, unknown>[];
  close(): Promise<void>;
}

export interface FakeOAuthOptions {
  /** Address of the MCP server that it guards. */
  upstream: string;
  /** Clients that are registered by hand; then it registers none by itself. */
  clients?: Record<string, { secret?: string; redirects: string[] }>;
  /** Seconds that a token lasts. Default 3,600. */
  lastsSeconds?: number;
  /** What its metadata name as the resource, at that origin; by default its own address. */
  resource?: (origin: string) => string;
  /** Where the resource's metadata lie, and whether a refusal says so. Default: where RFC 9728, 3 puts them, said. */
  resourceMetadata?: { path: string; isSaid: boolean };
  /** What a refusal says that is wanted (RFC 6750, 3). */
  wants?: string;
  /** Calls of that tool are refused to tokens without that permission, as RFC 6750, 3.1 has it. */
  guarded?: { tool: string; scope: string };
  /** Says this too, or instead, in the metadata of the authorization server (RFC 8414). */
  metadata?: Record<string, unknown>;
  /** Says it as an OpenID provider does (OpenID Connect Discovery 1.0, 3 and 4) instead. */
  isOpenIdProvider?: boolean;
  /** Is hostile at that path: answers nothing, sends the client to `/elsewhere`, or never ends its answer. */
  hostile?: { path: string; how: "silence" | "redirect" | "flood" };
}

interface Grant {
  client: string;
  account: string;
  redirect: string;
  challenge: string;
  scope: string;
}

export async function startFakeOAuth(options: FakeOAuthOptions): Promise<FakeOAuth> {
  const clients = new Map(Object.entries(options.clients ?? {}));
  const codes = new Map<string, Grant>();
  /** Accounts by their tokens. */
  const access = new Map<string, string>();
  const refresh = new Map<string, { client: string; account: string; scope: string }>();
  /** Permissions by access token. */
  const permissions = new Map<string, readonly string[]>();
  const registrations: Record<string, unknown>[] = [];
  const { resourceMetadata = { path: "/.well-known/oauth-protected-resource/mcp", isSaid: true } } = options;
  /** The accounts that sessions of the MCP server belong to. */
  const sessions = new Map<string, string>();
  const tokens: string[] = [];
  let renewals = 0;
  let followed = 0;
  let hushed: "silence" | "redirect" | "flood" | undefined;
  let flooded = 0;
  let origin = "";

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  const port = await listen(server);
  origin = `http://127.0.0.1:${port}`;
  const resource = options.resource?.(origin) ?? `${origin}/mcp`;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "", origin);
    const json = (status: number, body: unknown) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    const refuse = (error: string) => json(400, { error });
    if (url.pathname === "/elsewhere") followed += 1;
    if (url.pathname === options.hostile?.path) {
      if (options.hostile.how === "redirect") response.writeHead(307, { location: "/elsewhere" }).end();
      if (options.hostile.how === "flood") flood(response);
      return;
    }
    if (request.method === "GET" && url.pathname === resourceMetadata.path)
      return void json(200, { resource, authorization_servers: [origin], scopes_supported: ["notes"] });
    switch (`${request.method} ${url.pathname}`) {
      case "GET /.well-known/oauth-authorization-server":
        if (options.isOpenIdProvider) return void json(404, {});
        return void json(200, metadata());
      case "GET /.well-known/openid-configuration":
        if (!options.isOpenIdProvider) return void json(404, {});
        return void json(200, {
          ...metadata(),
          jwks_uri: `${origin}/keys`,
          subject_types_supported: ["public"],
          id_token_signing_alg_values_supported: ["RS256"],
        });
      case "POST /register": {
        if (options.clients) return void json(404, {});
        const body: { redirect_uris: string[] } = JSON.parse(await textOf(request));
        registrations.push({ ...body });
        const id = randomBytes(4).toString("hex");
        clients.set(id, { redirects: body.redirect_uris });
        return void json(201, { ...body, client_id: id });
      }
      case "POST /revoke": {
        const form = new URLSearchParams(await textOf(request));
        if (identify(request, form) === undefined) return void json(401, { error: "invalid_client" });
        const token = form.get("token") ?? "";
        refresh.delete(token);
        access.delete(token);
        return void response.writeHead(200).end();
      }
      case "POST /token":
        if (hushed === "silence") return;
        if (hushed === "flood") return flood(response);
        if (hushed === "redirect") return void response.writeHead(307, { location: "/elsewhere" }).end();
        return void grantToken(request, new URLSearchParams(await textOf(request)), { json, refuse });
      default:
        if (url.pathname === "/mcp") return await guard(request, response);
        return void json(404, {});
    }
  }

  /** JSON that begins well and goes on as fast as it is read. */
  function flood(response: ServerResponse): void {
    response.writeHead(200, { "content-type": "application/json" });
    const piece = Buffer.alloc(65_536, " ");
    const more = () => {
      while (!response.destroyed) {
        flooded += piece.length;
        if (!response.write(piece)) return void response.once("drain", more);
      }
    };
    more();
  }

  function metadata(): Record<string, unknown> {
    return {
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      revocation_endpoint: `${origin}/revoke`,
      ...(!options.clients && { registration_endpoint: `${origin}/register` }),
      response_types_supported: ["code"],
      grant_types_supported: ["authorization_code", "refresh_token"],
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: ["none", "client_secret_basic"],
      authorization_response_iss_parameter_supported: true,
      ...options.metadata,
    };
  }

  async function guard(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1];
    const account = token === undefined ? undefined : access.get(token);
    if (account === undefined) {
      const said = [
        ...(resourceMetadata.isSaid ? [`resource_metadata="${origin}${resourceMetadata.path}"`] : []),
        ...(options.wants === undefined ? [] : [`scope="${options.wants}"`]),
      ];
      response.writeHead(401, { "www-authenticate": `Bearer ${said.join(", ")}` }).end();
      return;
    }
    const body = await textOf(request);
    const { guarded } = options;
    if (
      guarded &&
      body.includes(`"name":"${guarded.tool}"`) &&
      !permissions.get(token ?? "")?.includes(guarded.scope)
    ) {
      const challenge = `Bearer error="insufficient_scope", scope="${guarded.scope}"`;
      response.writeHead(403, { "www-authenticate": challenge }).end();
      return;
    }
    const { method } = request;
    const headers = { ...request.headers, "x-account": account };
    const session = String(request.headers["mcp-session-id"] ?? "");
    // https://modelcontextprotocol.io/specification/2025-11-25/basic/security_best_practices#session-hijacking
    if (session && sessions.get(session) !== account) return void response.writeHead(404).end();
    const sent = httpRequest(options.upstream, { method: method ?? "GET", headers }, (answered) => {
      const opened = answered.headers["mcp-session-id"];
      if (typeof opened === "string") sessions.set(opened, account);
      response.writeHead(answered.statusCode ?? 502, answered.headers);
      answered.pipe(response);
    });
    sent.on("error", () => response.destroy());
    response.on("close", () => sent.destroy());
    sent.end(body);
  }

  function grantToken(
    request: IncomingMessage,
    form: URLSearchParams,
    { json, refuse }: { json(status: number, body: unknown): unknown; refuse(error: string): unknown },
  ): unknown {
    const client = identify(request, form);
    if (client === undefined) return json(401, { error: "invalid_client" });
    if (form.get("resource") !== resource) return refuse("invalid_target");
    if (form.get("grant_type") === "refresh_token") {
      const old = form.get("refresh_token") ?? "";
      const grant = refresh.get(old);
      if (grant?.client !== client) return refuse("invalid_grant");
      refresh.delete(old);
      renewals += 1;
      return json(200, give(client, grant));
    }
    const code = form.get("code") ?? "";
    const grant = codes.get(code);
    codes.delete(code);
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    const fits =
      grant?.client === client &&
      grant.redirect === form.get("redirect_uri") &&
      grant.challenge === challenge;
    return fits ? json(200, give(client, grant)) : refuse("invalid_grant");
  }

  function identify({ headers }: IncomingMessage, form: URLSearchParams): string | undefined {
    const basic = /^Basic (.+)$/.exec(headers.authorization ?? "")?.[1];
    const [id = form.get("client_id") ?? "", secret = form.get("client_secret") ?? undefined] = basic
      ? Buffer.from(basic, "base64").toString().split(":")
      : [];
    const known = clients.get(id);
    return known && known.secret === secret ? id : undefined;
  }

  function give(client: string, { account, scope }: Pick<Grant, "account" | "scope">) {
    const [token, next] = [`at-${randomBytes(16).toString("hex")}`, `rt-${randomBytes(16).toString("hex")}`];
    access.set(token, account);
    permissions.set(token, scope.split(" "));
    refresh.set(next, { client, account, scope });
    tokens.push(token, next);
    const expires_in = options.lastsSeconds ?? 3_600;
    return { access_token: token, refresh_token: next, token_type: "Bearer", expires_in, scope };
  }

  return {
    mcp: `${origin}/mcp`,
    origin,
    async agree(authorizationUrl, account = "somebody") {
      const { origin: asked, pathname, searchParams } = new URL(authorizationUrl);
      const [client, redirect] = [
        searchParams.get("client_id") ?? "",
        searchParams.get("redirect_uri") ?? "",
      ];
      if (`${asked}${pathname}` !== `${origin}/authorize`) throw new Error("This is not where one signs in.");
      // A client by its own document, which such a server would fetch.
      if (
        client.startsWith("https://") &&
        options.metadata?.["client_id_metadata_document_supported"] === true
      )
        clients.set(client, { redirects: [redirect] });
      if (!clients.get(client)?.redirects.includes(redirect))
        throw new Error("The client is unknown, or has not registered this redirect.");
      if (
        searchParams.get("response_type") !== "code" ||
        searchParams.get("code_challenge_method") !== "S256"
      )
        throw new Error("It takes codes with PKCE and S256 alone.");
      if (searchParams.get("resource") !== resource) throw new Error("It knows no such resource.");
      const code = randomBytes(8).toString("hex");
      const challenge = searchParams.get("code_challenge") ?? "";
      const scope = searchParams.get("scope") ?? "";
      codes.set(code, { client, account, redirect, challenge, scope });
      const back = new URL(redirect);
      back.search = new URLSearchParams({
        code,
        state: searchParams.get("state") ?? "",
        iss: origin,
      }).toString();
      return back.href;
    },
    expireTokens: () => access.clear(),
    hush: (how) => void (hushed = how),
    revoke(account) {
      for (const [token, of] of access) if (account === undefined || of === account) access.delete(token);
      for (const [token, of] of refresh)
        if (account === undefined || of.account === account) refresh.delete(token);
    },
    get renewals() {
      return renewals;
    },
    get flooded() {
      return flooded;
    },
    get followed() {
      return followed;
    },
    tokens,
    registrations,
    async close() {
      await closeServer(server);
    },
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  return Buffer.concat(await Array.fromAsync<Buffer>(request)).toString();
}
