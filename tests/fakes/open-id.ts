/**
 * A provider of OpenID Connect, with the refusals of a real one:
 * https://openid.net/specs/openid-connect-core-1_0.html (3.1.2.2, 3.1.3.2), RFC 6749 (4.1.2, 5.2), RFC 7636 (4.6),
 * RFC 9207, https://openid.net/specs/openid-connect-rpinitiated-1_0.html (2, 3). It knows one client and takes everybody for `person`, on a page with one link, as providers do where somebody
 * is signed in already.
 */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { closeServer, listen } from "./listen.ts";

export const clientId = "heddle";
/** With characters that RFC 6749 (2.3.1) wants encoded in a header. */
export const clientSecret = "s3cr:t/of a client+%";

type Claims = Record<string, unknown>;

export interface FakeOpenId extends AsyncDisposable {
  /** On `localhost`: of another site than a console on 127.0.0.1. */
  issuer: string;
  /** The claims of whoever signs in. */
  person: Claims;
  /** What it does wrong, from now on. */
  faults: Faults;
  /** Follows the address at which somebody signs in, as a browser does; where it sends the browser back to. */
  agree(address: string): Promise<URL>;
  /** What it has signed out: by an ID token of theirs, or because they have agreed to it. */
  readonly signedOut: ("by token" | "by person")[];
  /** Requests to each of its addresses. */
  readonly asked: string[];
}

interface Faults {
  /** In the ID token instead of what belongs there. */
  claims?: Claims;
  header?: Claims;
  /** `stranger`: with a key that it does not publish. */
  signature?: "stranger" | "none";
  metadata?: Claims;
  /** Of the answer that the browser brings back. */
  answer?: Record<string, string | undefined>;
  /** That address answers nothing, with an endless answer, or sends the client elsewhere. */
  hostile?: { path: string; how: "silence" | "flood" | "redirect" };
  /** What the ID token leaves out, and the address for it tells. */
  onlyInUserInfo?: string[];
  /** Whom the address for it tells about. */
  userInfoSubject?: string;
  takesSecretInBody?: true;
  /** It names no address at which people sign out. */
  keepsSignedIn?: true;
}

interface Grant {
  redirect: string;
  challenge: string;
  nonce: string;
}

const lastsSeconds = 300;

/** @param signedOutAt where browsers may be sent back to that have signed out */
export async function startFakeOpenId(
  redirects: readonly string[],
  signedOutAt: readonly string[] = [],
): Promise<FakeOpenId> {
  const own = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const stranger = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const codes = new Map<string, Grant>();
  const tokens = new Set<string>();
  const idTokens = new Set<string>();
  const signedOut: FakeOpenId["signedOut"] = [];
  const asked: string[] = [];
  let issuer = "";
  const state: { person: Claims; faults: Faults } = { person: { sub: "1" }, faults: {} };

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  const port = await listen(server);
  issuer = `http://localhost:${port}`;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "", issuer);
    const json = (status: number, body: unknown) =>
      void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    asked.push(`${request.method} ${url.pathname}`);
    const { hostile } = state.faults;
    if (hostile?.path === url.pathname) return attack(hostile.how, response);
    switch (`${request.method} ${url.pathname}`) {
      case "GET /.well-known/openid-configuration":
        return json(200, metadata());
      case "GET /keys":
        return json(200, {
          keys: [{ ...own.publicKey.export({ format: "jwk" }), kid: "1", use: "sig", alg: "RS256" }],
        });
      case "GET /authorize":
        return authorize(url.searchParams, response);
      case "POST /token":
        return grantToken(request, new URLSearchParams(await readText(request)), json);
      case "GET /userinfo": {
        const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1] ?? "";
        if (!tokens.has(token)) return void response.writeHead(401, { "www-authenticate": "Bearer" }).end();
        return json(200, {
          ...state.person,
          ...(state.faults.userInfoSubject && { sub: state.faults.userInfoSubject }),
        });
      }
      case "GET /logout":
        return endSession(url.searchParams, response);
      case "GET /favicon.ico":
        return void response.writeHead(204).end();
      default:
        return json(404, {});
    }
  }

  function metadata(): Claims {
    return {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/keys`,
      userinfo_endpoint: `${issuer}/userinfo`,
      response_types_supported: ["code"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["RS256"],
      code_challenge_methods_supported: ["S256"],
      authorization_response_iss_parameter_supported: true,
      ...(!state.faults.keepsSignedIn && { end_session_endpoint: `${issuer}/logout` }),
      token_endpoint_auth_methods_supported: [
        state.faults.takesSecretInBody ? "client_secret_post" : "client_secret_basic",
      ],
      ...state.faults.metadata,
    };
  }

  function authorize(query: URLSearchParams, response: ServerResponse): void {
    const [client, redirect] = [query.get("client_id"), query.get("redirect_uri") ?? ""];
    // To an address that it does not know it sends nobody (RFC 6749, 4.1.2.1).
    if (client !== clientId || !redirects.includes(redirect))
      return void response
        .writeHead(400, { "content-type": "text/plain" })
        .end("Unknown client or redirect_uri.");
    const back = new URL(redirect);
    const isComplete =
      query.get("response_type") === "code" &&
      query.get("code_challenge_method") === "S256" &&
      (query.get("scope") ?? "").split(" ").includes("openid");
    const code = randomBytes(8).toString("hex");
    const { code_challenge: challenge = "", nonce = "", state: given = "" } = Object.fromEntries(query);
    codes.set(code, { redirect, challenge, nonce });
    const said = { ...(isComplete ? { code } : { error: "invalid_request" }), state: given, iss: issuer };
    for (const [name, value] of Object.entries({ ...said, ...state.faults.answer }))
      if (value !== undefined) back.searchParams.set(name, value);
    if (state.faults.answer?.["error"]) back.searchParams.delete("code");
    const link = back.href.replaceAll("&", "&amp;");
    response
      .writeHead(200, { "content-type": "text/html; charset=utf-8", "x-back": back.href })
      .end(`<!doctype html><title>Sign in</title><a href="${link}">Continue</a>`);
  }

  /** Without a token of theirs the person is asked; to an address that it does not know it sends nobody. */
  function endSession(query: URLSearchParams, response: ServerResponse): void {
    const refuse = (why: string) =>
      void response.writeHead(400, { "content-type": "text/plain" }).end(`invalid_request: ${why}`);
    const hint = query.get("id_token_hint");
    const client = query.get("client_id");
    const back = query.get("post_logout_redirect_uri");
    if (hint !== null && !idTokens.has(hint)) return refuse("id_token_hint");
    if (client !== null && client !== clientId) return refuse("client_id");
    if (hint === null && client === null && back !== null) return refuse("no client");
    if (back !== null && !signedOutAt.includes(back)) return refuse("post_logout_redirect_uri");
    if (hint === null && !query.has("agreed")) {
      query.set("agreed", "yes");
      const link = `/logout?${query.toString()}`.replaceAll("&", "&amp;");
      return void response
        .writeHead(200, { "content-type": "text/html; charset=utf-8" })
        .end(`<!doctype html><title>Sign out</title><a href="${link}">Yes, sign out</a>`);
    }
    signedOut.push(hint === null ? "by person" : "by token");
    response.writeHead(303, { location: back ?? "/" }).end();
  }

  function grantToken(
    request: IncomingMessage,
    form: URLSearchParams,
    json: (status: number, body: unknown) => void,
  ): void {
    if (!isOurClient(request, form)) return json(401, { error: "invalid_client" });
    if (form.get("grant_type") !== "authorization_code")
      return json(400, { error: "unsupported_grant_type" });
    const code = form.get("code") ?? "";
    const grant = codes.get(code);
    codes.delete(code);
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    if (!grant || grant.redirect !== form.get("redirect_uri") || grant.challenge !== challenge)
      return json(400, { error: "invalid_grant" });
    const token = `at-${randomBytes(16).toString("hex")}`;
    tokens.add(token);
    const id_token = createIdToken(grant.nonce);
    idTokens.add(id_token);
    json(200, { access_token: token, token_type: "Bearer", expires_in: lastsSeconds, id_token });
  }

  function isOurClient({ headers }: IncomingMessage, form: URLSearchParams): boolean {
    if (state.faults.takesSecretInBody)
      return form.get("client_id") === clientId && form.get("client_secret") === clientSecret;
    const basic = /^Basic (.+)$/.exec(headers.authorization ?? "")?.[1] ?? "";
    const decode = (text = "") => decodeURIComponent(text.replaceAll("+", " "));
    const [id, secret] = Buffer.from(basic, "base64").toString().split(":");
    return decode(id) === clientId && decode(secret) === clientSecret;
  }

  function createIdToken(nonce: string): string {
    const { faults, person } = state;
    const seconds = Math.floor(Date.now() / 1_000);
    const told = Object.entries(person).filter(([claim]) => !faults.onlyInUserInfo?.includes(claim));
    const times = { iat: seconds, exp: seconds + lastsSeconds };
    const claims = {
      iss: issuer,
      aud: clientId,
      nonce,
      ...times,
      ...Object.fromEntries(told),
      ...faults.claims,
    };
    const header = { alg: "RS256", typ: "JWT", kid: "1", ...faults.header };
    const text = [header, claims]
      .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
      .join(".");
    if (faults.signature === "none") return `${text}.`;
    const key: KeyObject = faults.signature === "stranger" ? stranger.privateKey : own.privateKey;
    return `${text}.${sign("sha256", Buffer.from(text), key).toString("base64url")}`;
  }

  return {
    get issuer() {
      return issuer;
    },
    get person() {
      return state.person;
    },
    set person(claims) {
      state.person = claims;
    },
    get faults() {
      return state.faults;
    },
    set faults(faults) {
      state.faults = faults;
    },
    asked,
    signedOut,
    async agree(address) {
      const page = await fetch(address, { redirect: "manual" });
      const back = page.headers.get("x-back");
      if (back === null) throw new Error(`The provider refuses: ${await page.text()}`);
      return new URL(back);
    },
    async [Symbol.asyncDispose]() {
      await closeServer(server);
    },
  };
}

function attack(how: "silence" | "flood" | "redirect", response: ServerResponse): void {
  if (how === "redirect") return void response.writeHead(307, { location: "/elsewhere" }).end();
  if (how === "silence") return;
  response.writeHead(200, { "content-type": "application/json" });
  const flood = () => {
    while (!response.destroyed)
      if (!response.write(" ".repeat(65_536))) return void response.once("drain", flood);
  };
  flood();
}

async function readText(request: IncomingMessage): Promise<string> {
  return Buffer.concat(await Array.fromAsync<Buffer>(request)).toString();
}
