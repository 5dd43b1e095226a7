import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { type Account, type AccountStore, changeAccount } from "../../contracts/mcp-account.ts";
import { isProtected, openSignInFetch } from "./begun.ts";

/** How long the authorization server may take to revoke a token, ms. */
const revokeMs = 10_000;

/** `revoked`: the authorization server says so; elsewhere it was not told, or does not say. */
export type Disconnected = { was: boolean; revoked: boolean };

/**
 * Forgets an account, and revokes its tokens at the authorization server where that takes revocations (RFC 7009). It is
 * forgotten first: whatever that server says, or where it says nothing, no call is made with it from then on.
 *
 * @param waitMs how long its answer is waited for, which it may give later, too
 */
export async function disconnectAccount(
  store: AccountStore,
  server: string,
  waitMs = revokeMs,
): Promise<Disconnected> {
  let account: Account | undefined;
  let was = false;
  await changeAccount(store, server, async () => {
    // One that cannot be read is removed as well.
    account = await store.read(server).catch(() => undefined);
    was = await store.remove(server);
  });
  if (!account) return { was, revoked: false };
  const late = delay(waitMs, false, { ref: false });
  return { was, revoked: await Promise.race([revoke(account), late]) };
}

const metadataSchema = z.looseObject({ revocation_endpoint: z.url({ protocol: /^https?$/ }).optional() });

async function revoke(account: Account): Promise<boolean> {
  const { metadata, client, refreshToken, accessToken } = account;
  const fetch = openSignInFetch(account);
  const endpoint = metadataSchema.safeParse(metadata).data?.revocation_endpoint;
  if (endpoint === undefined || !isProtected(new URL(endpoint))) return false;
  const post = async (token: string, hint: string): Promise<boolean> => {
    const body = new URLSearchParams({ token, token_type_hint: hint });
    const headers = new Headers();
    const { client_id: id, client_secret: secret } = client;
    // RFC 6749, 2.3.1.
    if (secret === undefined) body.set("client_id", id);
    else headers.set("authorization", `Basic ${toBasic(id, secret)}`);
    try {
      const signal = AbortSignal.timeout(revokeMs);
      const answer = await fetch(endpoint, { method: "POST", body, headers, redirect: "error", signal });
      await answer.body?.cancel();
      return answer.ok;
    } catch {
      return false;
    }
  };
  // A server ends the access tokens of a refresh token with it, or leaves them to expire (RFC 7009, 2.1).
  const tokens = [
    ...(refreshToken === undefined ? [] : [post(refreshToken, "refresh_token")]),
    post(accessToken, "access_token"),
  ];
  return (await Promise.all(tokens)).every(Boolean);
}

function toBasic(id: string, secret: string): string {
  return Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString("base64");
}
