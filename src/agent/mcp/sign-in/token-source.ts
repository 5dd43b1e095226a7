import { extractWWWAuthenticateParams, refreshAuthorization } from "@modelcontextprotocol/sdk/client/auth.js";
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";
import { InvalidClientError, InvalidGrantError } from "@modelcontextprotocol/sdk/server/auth/errors.js";
import { type Account, type AccountStore, isUsable } from "../../contracts/mcp-account.ts";
import { boundAnswer } from "../../network/bounded-answer.ts";
import { openSignInFetch } from "./begun.ts";
import { explainError } from "./explain-error.ts";
import { signInBytes } from "./discovery.ts";
import { takeTokens } from "./sign-in.ts";

/** RFC 6749, 3.3; people read them. */
const scopes = /^[\x21\x23-\x5B\x5D-\x7E]+( [\x21\x23-\x5B\x5D-\x7E]+)*$/;

/** A token is renewed so long before its end, ms: shorter than tokens last, or each request would renew one. */
const renewAheadMs = 30_000;
/** How long a process that does not renew waits for the one that does: so often, so long, ms. */
const waits = { times: 20, eachMs: 250 };

/** How long a renewal may take, ms: shorter than other processes are held off, or two would use one refresh token. */
const renewMs = 10_000;

export interface TokenSourceOptions {
  server: string;
  /** Address of the server as it is configured: an account that was made for another one is not used. */
  url: URL;
  store: AccountStore;
  /** What helps where a token cannot be renewed, as a clause. Default: `heddle mcp login`. */
  remedy?: string;
  /** Told of each token before it is used, so that it can be masked. */
  onToken(token: string): void;
  onProblem(problem: string): void;
  now?: () => number;
  /** Default: 10 s. */
  renewMs?: number;
}

/**
 * `fetch` that signs each request with the installation's account at a server. A token is renewed ahead of its end, and
 * once when the server refuses it; by one process, whose token the others then use. Without an account, requests go
 * out as they are.
 */
export function createSignedFetch(fetch: FetchLike, options: TokenSourceOptions): FetchLike {
  const find = () => findAccount(options);
  return async (address, init) => {
    const account = await find();
    if (!account) return fetch(address, init);
    const response = await fetch(address, withToken(init, account, options));
    if (response.status === 403) await noteWanted(account, response, options);
    if (response.status !== 401) return response;
    const renewed = account.refreshToken === undefined ? undefined : await renew(account, options);
    if (!renewed || renewed.accessToken === account.accessToken) {
      if (account.refreshToken === undefined) await endAccount(account, options);
      return response;
    }
    await response.body?.cancel();
    const second = await fetch(address, withToken(init, renewed, options));
    if (second.status === 401) await endAccount(renewed, options);
    return second;
  };
}

/**
 * Remembers what an account may not do and a call wanted: it is asked for with the next sign-in
 * (https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization#scope-challenge-handling).
 */
async function noteWanted(
  account: Account,
  response: Response,
  { server, store }: TokenSourceOptions,
): Promise<void> {
  const { error, scope } = extractWWWAuthenticateParams(response);
  if (error !== "insufficient_scope" || scope === undefined || scope.length > 500 || !scopes.test(scope))
    return;
  // A call that is refused is often made again.
  if (account.wanted === scope) return;
  await store.renewAlone(server, async () => {
    const latest = await store.read(server);
    if (latest?.accessToken === account.accessToken && latest.wanted !== scope)
      await store.write(server, { ...latest, wanted: scope });
  });
}

/** Remembers that the account serves nobody any more, unless it is another one by now. */
async function endAccount(old: Account, { server, store }: TokenSourceOptions): Promise<void> {
  // Whoever has the lock has a newer token, or finds out by itself.
  await store.renewAlone(server, async () => {
    const latest = await store.read(server);
    if (latest?.accessToken === old.accessToken) await store.write(server, { ...latest, ended: true });
  });
}

function withToken(
  init: RequestInit | undefined,
  { accessToken }: Account,
  options: TokenSourceOptions,
): RequestInit {
  options.onToken(accessToken);
  const headers = new Headers(init?.headers);
  headers.set("authorization", `Bearer ${accessToken}`);
  // A redirect would take the token along to wherever it leads.
  return { ...init, headers, redirect: "error" };
}

async function findAccount(options: TokenSourceOptions): Promise<Account | undefined> {
  const { server, url, store, now = Date.now } = options;
  const account = await store.read(server);
  if (!isUsable(account, url)) return undefined;
  const { expiresAt = Infinity } = account;
  if (expiresAt - now() > renewAheadMs) return account;
  return (await renew(account, options)) ?? account;
}

/** The account with a newer token than that one, whoever renews it; undefined where it cannot be renewed. */
async function renew(old: Account, options: TokenSourceOptions): Promise<Account | undefined> {
  const { server, store, onProblem } = options;
  let renewed: Account | undefined;
  for (let wait = 0; wait < waits.times; wait += 1) {
    const outcome = await store.renewAlone(server, async () => {
      const latest = await store.read(server);
      // Another process may have been done just before.
      if (!latest || latest.ended) return;
      if (latest.accessToken !== old.accessToken) renewed = latest;
      else renewed = await fetchNext(latest, options);
    });
    if (outcome === "done") return renewed;
    await new Promise((resolve) => setTimeout(resolve, waits.eachMs));
    const latest = await store.read(server);
    if (latest && latest.accessToken !== old.accessToken) return latest;
  }
  onProblem(
    `The token for the MCP server ${server} is being renewed by another process, which takes too long.`,
  );
  return undefined;
}

async function fetchNext(account: Account, options: TokenSourceOptions): Promise<Account | undefined> {
  const { server, store, onProblem, onToken, now = Date.now } = options;
  // The end of the old token is not that of the new one.
  const { expiresAt: _, ...kept } = account;
  const { issuer, metadata, resource, client, refreshToken } = account;
  if (refreshToken === undefined) return undefined;
  const fetch = openSignInFetch(account);
  onToken(refreshToken);
  const deadline = AbortSignal.timeout(options.renewMs ?? renewMs);
  try {
    const tokens = await refreshAuthorization(issuer, {
      // Stored as the SDK has parsed it at sign-in.
      ...(metadata && {
        metadata: metadata as NonNullable<Parameters<typeof refreshAuthorization>[1]["metadata"]>,
      }),
      clientInformation: client,
      refreshToken,
      ...(resource !== undefined && { resource }),
      // A redirect would take the refresh token along to wherever it leads.
      fetchFn: async (address, init) =>
        boundAnswer(await fetch(address, { ...init, redirect: "error", signal: deadline }), signInBytes),
    });
    const next = { ...kept, ...takeTokens(tokens, now()) };
    await store.write(server, next);
    return next;
  } catch (error) {
    // The authorization server has spoken: asked again, it would say the same.
    if (error instanceof InvalidGrantError || error instanceof InvalidClientError)
      await store.write(server, { ...account, ended: true });
    onProblem(
      `The token for the MCP server ${server} could not be renewed (${explainError(error)}): ${options.remedy ?? `run heddle mcp login ${server} again if this goes on`}.`,
    );
    return undefined;
  }
}
