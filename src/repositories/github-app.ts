import { type KeyObject, sign } from "node:crypto";
import { z } from "zod";
import { appPermissions } from "./app-manifest.ts";
import type { RepositoryCredential, Token } from "./credential.ts";
import {
  type ApiAnswer,
  type ApiHeaders,
  type ApiPlace,
  type CallApi,
  createApi,
  describeMove,
  describeTrouble,
  findMessages,
} from "./hosts/host.ts";

/** A GitHub App of the operator's. */
export interface GithubApp {
  clientId: string;
  privateKey: KeyObject;
}

/** Without an App nobody signs in. `reason` is one clause for the model. */
export type AppReading = { ok: true; app?: GithubApp } | { ok: false; reason: string };

/** A token ends an hour after it was made; it is made anew so long before. */
const renewBeforeMs = 5 * 60_000;
const answerWithinMs = 60_000;

const installation = z.looseObject({ id: z.number() });
const issued = z.looseObject({ token: z.string().min(1), expires_at: z.string() });

/**
 * Installation tokens for one repository, with no more permissions than are needed. They are made when they are needed, are
 * kept in this process alone, and do not void each other, so that processes need not agree about them.
 * https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-an-installation-access-token-for-a-github-app
 *
 * @param options.readApp asked for each token: an operator may register the App, or have it forgotten, meanwhile
 * @param options.onToken is told of each, to hide it wherever it might turn up
 */
export function createAppCredential(options: {
  readApp(): Promise<AppReading>;
  place: ApiPlace;
  now(): number;
  onToken(token: string): void;
}): RepositoryCredential {
  const { readApp, place, now, onToken } = options;
  const host = new URL(place.api).host;
  let current: { value: string; endsAt: number; clientId: string } | undefined;
  let making: Promise<Token> | undefined;

  async function make(app: GithubApp): Promise<Token> {
    const call = createAppApi(place.api, app, { now, signal: AbortSignal.timeout(answerWithinMs) });
    const found = await call("GET", `/repos/${place.owner}/${place.name}/installation`);
    const known = installation.safeParse(found.body);
    if (found.status !== 200 || !known.success) return explain(found);
    const body = { repositories: [place.name], permissions: appPermissions };
    const made = await call("POST", `/app/installations/${known.data.id}/access_tokens`, body);
    const parsed = issued.safeParse(made.body);
    const endsAt = Date.parse(parsed.data?.expires_at ?? "");
    if (made.status !== 201 || !parsed.success || !(endsAt > now())) return explain(made);
    current = { value: parsed.data.token, endsAt, clientId: app.clientId };
    onToken(current.value);
    return { ok: true, value: current.value };
  }

  function explain(answer: ApiAnswer): Token {
    return {
      ok: false,
      reason: describeTrouble(answer, host) ?? describeMove(answer, host) ?? describe(answer),
    };
  }

  function describe({ status, body }: ApiAnswer): string {
    const title = `${place.owner}/${place.name}`;
    switch (status) {
      case 401:
        return `${host} does not accept the GitHub App's key; the operator must check the App in the console, under Connect, or GITHUB_APP_CLIENT_ID and GITHUB_APP_PRIVATE_KEY`;
      case 404:
        return `the GitHub App is not installed for ${title}; the operator must install it there`;
      case 422:
        return `the GitHub App lacks a permission for ${title}; the operator must give it Contents and Pull requests, read and write`;
      default: {
        const said = findMessages(body).join("; ").slice(0, 300);
        return `${host} gave no token for ${title} (${status}${said && `: ${said}`})`;
      }
    }
  }

  return {
    async token(refused) {
      const reading = await readApp();
      if (!reading.ok) return reading;
      const { app } = reading;
      if (!app) return { ok: true };
      const isKnown = current?.clientId === app.clientId && current.value !== refused;
      const known = isKnown ? current : undefined;
      if (known && known.endsAt - now() > renewBeforeMs) return { ok: true, value: known.value };
      const made = await (making ??= make(app).finally(() => (making = undefined)));
      // As long as the earlier one is good, it does not matter that there is no newer one.
      return !made.ok && known && known.endsAt > now() ? { ok: true, value: known.value } : made;
    },
  };
}

const named = z.looseObject({ slug: z.string().min(1).max(100) });

/**
 * The account that the App acts under, such as `heddle[bot]`: GitHub names it as the sender of what the App does.
 * Undefined where GitHub does not say.
 * https://docs.github.com/en/rest/apps/apps#get-the-authenticated-app
 */
export async function readAppLogin(
  app: GithubApp,
  { api }: Pick<ApiPlace, "api">,
  now: () => number,
): Promise<string | undefined> {
  const { status, body } = await createAppApi(api, app, {
    now,
    signal: AbortSignal.timeout(answerWithinMs),
  })("GET", "/app");
  const { data } = named.safeParse(body);
  return status === 200 && data ? `${data.slug}[bot]` : undefined;
}

/** Requests to the API in the name of the App itself. */
export function createAppApi(
  api: string,
  app: GithubApp,
  { now, signal }: { now(): number; signal: AbortSignal },
): CallApi {
  const headersFor = async (): Promise<ApiHeaders> => ({
    ok: true,
    headers: { authorization: `Bearer ${signRequest(app, now())}`, accept: "application/vnd.github+json" },
  });
  return createApi(api, headersFor, signal);
}

/**
 * What an App signs its requests with (RFC 7519, RS256). Its beginning is in the past, since clocks differ.
 * https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-json-web-token-jwt-for-a-github-app
 */
function signRequest({ clientId, privateKey }: GithubApp, now: number): string {
  const seconds = Math.floor(now / 1_000);
  const parts = [
    { alg: "RS256", typ: "JWT" },
    { iat: seconds - 60, exp: seconds + 540, iss: clientId },
  ].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"));
  const text = parts.join(".");
  return `${text}.${sign("sha256", Buffer.from(text), privateKey).toString("base64url")}`;
}
