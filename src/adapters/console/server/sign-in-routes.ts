import type { IncomingMessage } from "node:http";
import type { Redis } from "ioredis";
import type { BaseLogger } from "pino";
import type { Author } from "../../../chat/inbound.ts";
import { createAttemptLimit } from "./attempt-limit.ts";
import { type AuthGuard, type ProviderSettings, providerSeconds } from "./auth-guard.ts";
import type { AddressList } from "./client-address.ts";
import { type CookieAttributes, readCookies, writeCookie } from "./cookies.ts";
import type { Reply } from "./http.ts";
import { signInCallbackPath, signInPath, signOutPath } from "./origin.ts";
import { createOpenId, pendingSeconds } from "./open-id.ts";
import type { OpenIdResult, OpenIdSettings } from "./open-id-provider.ts";
import type { RoleTable } from "./person.ts";

/** What the page says of a sign-in that came to nothing. */
export type SignInProblem = "declined" | "stale" | "unreachable" | "invalid" | "unknown" | "too-many";

export interface SignInRoutes {
  /** The answer, always a redirect; undefined for any other address. */
  answer(request: IncomingMessage, path: string, query: URLSearchParams): Promise<Reply | undefined>;
}

/** Carries a sign-in that has begun, until the provider sends the browser back. */
const pendingCookie = "heddle_sign_in";
/** Carries what the provider is shown when the person signs out. */
const hintCookie = "heddle_sign_out";

/** What the settings say of the provider at which people sign in. */
export interface OpenIdOptions extends Omit<OpenIdSettings, "redirectUri" | "signedOutUri" | "groups"> {
  /** Where the console is opened. */
  address: string;
  roles: RoleTable;
}

/** The same for whoever decides who may in. */
export function describeProvider({ issuer, clientId, address, roles }: OpenIdOptions): ProviderSettings {
  return { id: `openid ${issuer} ${clientId}`, address, roles };
}

/** Our client at the provider. */
export function describeClient(provider: OpenIdOptions): OpenIdSettings {
  const redirectUri = new URL(signInCallbackPath, provider.address).href;
  const signedOutUri = new URL("/", provider.address).href;
  return { ...provider, redirectUri, signedOutUri, groups: Object.keys(provider.roles.groups) };
}

/** The addresses by which people sign in and out at a provider. They are for everybody. */
export function createSignInRoutes(
  provider: OpenIdOptions,
  options: {
    redis: Redis;
    authGuard: Pick<AuthGuard, "admit">;
    proxies: AddressList;
    /** Told who has signed in. */
    onSignIn(by: Author): void;
    log: Pick<BaseLogger, "warn">;
    now(): number;
  },
): SignInRoutes {
  const { authGuard, onSignIn, log, now } = options;
  const client = describeClient(provider);
  const openId = createOpenId(options.redis, client, now);
  const attempts = createAttemptLimit(options.proxies, now);
  const attributes: CookieAttributes = {
    seconds: pendingSeconds,
    secure: client.redirectUri.startsWith("https:"),
    path: signInPath,
    crossesSites: true,
  };
  const hintAttributes: CookieAttributes = {
    ...{ seconds: providerSeconds, secure: attributes.secure },
    path: signOutPath,
  };

  const explain = (result: Exclude<OpenIdResult<unknown>, { kind: "done" }>): Reply => {
    if ("why" in result) log.warn({ why: result.why }, `a sign-in at the provider is ${result.kind}`);
    return redirectToPage(result.kind);
  };

  const begin = async (): Promise<Reply> => {
    const begun = await openId.begin();
    if (begun.kind !== "done") return explain(begun);
    const { address, pending } = begun.value;
    return redirect(address.href, writeCookie(pendingCookie, pending, attributes));
  };

  const finish = async (request: IncomingMessage, query: URLSearchParams): Promise<Reply> => {
    if (attempts.areTooMany(request)) return redirectToPage("too-many");
    const finished = await openId.finish(query, readCookies(request, pendingCookie));
    if (finished.kind === "invalid" || finished.kind === "stale") attempts.add(request);
    if (finished.kind !== "done") return explain(finished);
    const { identity, hint } = finished.value;
    const admitted = await authGuard.admit(identity);
    if (!admitted) return redirectToPage("unknown");
    onSignIn(admitted.person.author);
    return redirect("/#/", admitted.cookie, ...(hint ? [writeCookie(hintCookie, hint, hintAttributes)] : []));
  };

  /** Whatever the provider says, the browser is signed out here. */
  const end = async (request: IncomingMessage): Promise<Reply> => {
    const ended = await openId.end(readCookies(request, hintCookie));
    if (ended.kind !== "done") log.warn(ended, "a sign-out at the provider was not possible");
    const removed = writeCookie(hintCookie, "", { ...hintAttributes, seconds: 0 });
    return redirect((ended.kind === "done" && ended.value?.href) || "/", removed);
  };

  return {
    async answer(request, path, query) {
      if (request.method !== "GET") return undefined;
      if (path === signInPath) return await begin();
      if (path === signOutPath) return await end(request);
      return path === signInCallbackPath ? await finish(request, query) : undefined;
    },
  };
}

function redirectToPage(problem: SignInProblem): Reply {
  return redirect(`/#sign-in=${problem}`);
}

function redirect(location: string, ...cookies: string[]): Reply {
  return { status: 303, headers: { location }, cookies };
}
