import type { Redis } from "ioredis";
import type { IDToken, UserInfoResponse } from "openid-client";
import { z } from "zod";
import { createSealedBox } from "../../../agent/secrets/sealed-box.ts";
import { type Identity, readSignInSecret } from "../../../operations/people/sign-ins.ts";
import {
  configureClient,
  isWebAddress,
  type OpenIdResult,
  type OpenIdSettings,
  rememberProvider,
  settleRequest,
} from "./open-id-provider.ts";
import { isName } from "./person.ts";

/**
 * People sign in at a provider of OpenID Connect: authorization code with PKCE, state and nonce
 * (https://openid.net/specs/openid-connect-core-1_0.html#CodeFlowAuth). What has to be known when they come back is sealed in a
 * cookie of the browser, so that whoever asks for sign-ins by the million fills nothing, and any gateway can go on.
 */
export interface OpenId {
  /** Where to send the browser, and what it has to bring back. */
  begin(): Promise<OpenIdResult<{ address: URL; pending: string }>>;
  /** @param query what the provider has sent the browser back with */
  finish(query: URLSearchParams, pending: readonly string[]): Promise<OpenIdResult<SignedInAtProvider>>;
  /**
   * Where to send a browser that has been signed out here, so that it is at the provider too
   * (https://openid.net/specs/openid-connect-rpinitiated-1_0.html); undefined where the provider names no address.
   *
   * @param hints what {@link finish} gave this browser; without one the provider asks the person first
   */
  end(hints: readonly string[]): Promise<OpenIdResult<URL | undefined>>;
}

/** `hint`: the ID token, sealed, for the browser to keep until it is signed out; absent where it is too long for a cookie. */
export interface SignedInAtProvider {
  identity: Identity;
  hint?: string;
}

/** How long a person may take at the provider. */
export const pendingSeconds = 600;
/** Browsers keep cookies of some 4,000 characters. */
const maxHintChars = 3_600;

const pendingSchema = z.strictObject({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  until: z.number(),
});

/** @param now for what is ours; the times in tokens are compared with this host's clock */
export function createOpenId(redis: Redis, settings: OpenIdSettings, now: () => number): OpenId {
  const { redirectUri, clientId } = settings;
  const provider = rememberProvider(settings, now);
  const openBox = async () =>
    createSealedBox(await readSignInSecret(redis), `sign-in ${redirectUri} ${clientId}`);

  return {
    begin: () =>
      settleRequest(async () => {
        // It is read by those only who have people sign in.
        const library = await import("openid-client");
        const config = await provider();
        const [state, nonce] = [library.randomState(), library.randomNonce()];
        const verifier = library.randomPKCECodeVerifier();
        const address = library.buildAuthorizationUrl(config, {
          redirect_uri: redirectUri,
          scope: settings.scopes.join(" "),
          ...{ state, nonce },
          code_challenge: await library.calculatePKCECodeChallenge(verifier),
          code_challenge_method: "S256",
        });
        const until = now() + pendingSeconds * 1_000;
        const pending = (await openBox()).seal(
          JSON.stringify({ state, nonce, verifier, until }),
          redirectUri,
        );
        return { kind: "done", value: { address, pending } };
      }),

    finish: (query, pending) =>
      settleRequest(async () => {
        const box = await openBox();
        const begun = pending
          .map((sealed) => openPending(() => box.open(sealed, redirectUri)))
          .find((one) => one?.state === query.get("state"));
        if (!begun || begun.until <= now()) return { kind: "stale" };
        const library = await import("openid-client");
        const config = await configureClient((await provider()).serverMetadata(), settings);
        const returned = new URL(`${redirectUri}?${query.toString()}`);
        const tokens = await library.authorizationCodeGrant(config, returned, {
          pkceCodeVerifier: begun.verifier,
          expectedState: begun.state,
          expectedNonce: begun.nonce,
          idTokenExpected: true,
        });
        const claims = tokens.claims();
        if (!claims) return { kind: "invalid", why: "there is no ID token" };
        const says = (claim: string) => claims[claim] !== undefined;
        const isWhole =
          says(settings.nameClaim) && (settings.groups.length === 0 || says(settings.groupsClaim));
        // Some tell more when they are asked with the token. The library checks that it is the same person.
        const info =
          isWhole || config.serverMetadata().userinfo_endpoint === undefined
            ? undefined
            : await library.fetchUserInfo(config, tokens.access_token, claims.sub);
        const read = readIdentity(claims, info, settings);
        if (read.kind !== "done") return read;
        const hint = box.seal(tokens.id_token ?? "", settings.signedOutUri);
        return {
          kind: "done",
          value: { identity: read.value, ...(hint.length <= maxHintChars && { hint }) },
        };
      }),

    end: (hints) =>
      settleRequest(async () => {
        const box = await openBox();
        const token = hints
          .map((sealed) => openText(() => box.open(sealed, settings.signedOutUri)))
          .find((one) => one !== undefined);
        const library = await import("openid-client");
        const config = await provider();
        const { end_session_endpoint: end } = config.serverMetadata();
        if (end === undefined) return { kind: "done", value: undefined };
        if (!isWebAddress(end, settings))
          return { kind: "invalid", why: "the provider's end_session_endpoint is no address of the web" };
        const address = library.buildEndSessionUrl(config, {
          post_logout_redirect_uri: settings.signedOutUri,
          ...(token !== undefined && { id_token_hint: token }),
        });
        return { kind: "done", value: address };
      }),
  };
}

function openPending(open: () => string): z.infer<typeof pendingSchema> | undefined {
  const text = openText(open);
  return text === undefined ? undefined : pendingSchema.safeParse(JSON.parse(text)).data;
}

function openText(open: () => string): string | undefined {
  try {
    return open();
  } catch {
    // Of another Heddle, or of nobody's.
    return undefined;
  }
}

function readIdentity(
  claims: IDToken,
  info: UserInfoResponse | undefined,
  { nameClaim, groupsClaim, groups }: OpenIdSettings,
): OpenIdResult<Identity> {
  const says = claims[nameClaim] === undefined && info ? info : claims;
  const name = says[nameClaim];
  if (typeof name !== "string" || !isName(name.trim()))
    return { kind: "invalid", why: `the provider does not tell the claim ${nameClaim}, or no name in it` };
  // Anybody may write any address into an account of theirs.
  if (nameClaim === "email" && ![true, "true"].includes(says["email_verified"] as boolean))
    return { kind: "invalid", why: "the provider has not verified the person's email" };
  const told = claims[groupsClaim] ?? info?.[groupsClaim];
  const own = new Set(Array.isArray(told) ? told : [told]);
  return { kind: "done", value: { name: name.trim(), groups: groups.filter((group) => own.has(group)) } };
}
