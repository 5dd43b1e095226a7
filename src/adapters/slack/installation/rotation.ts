import { WebClient } from "@slack/web-api";
import { z } from "zod";
import { clientOptions, type SlackServer } from "../connection/web.ts";
import type { OAuthClient } from "./oauth-client.ts";

/** The refresh token, which works once, and when the bot token expires, ms since the epoch. */
export const rotationSchema = z.object({ refreshToken: z.string(), expiresAt: z.number() });

type Rotation = z.infer<typeof rotationSchema>;

/** A token lives for twelve hours, and is renewed this long before it expires, as Slack's SDK does. */
const earlyMs = 2 * 3_600_000;

export function isExpiring({ expiresAt }: Rotation, now: number): boolean {
  return expiresAt - now < earlyMs;
}

const answerSchema = z.object({
  access_token: z.string(),
  refresh_token: z.string(),
  expires_in: z.number(),
});

/** Fetches the next token; the previous one stays valid until it expires. https://docs.slack.dev/authentication/using-token-rotation */
export async function fetchNextToken(
  { clientId, clientSecret }: OAuthClient,
  server: SlackServer,
  { refreshToken }: Rotation,
  now: number,
): Promise<{ botToken: string; rotation: Rotation }> {
  const client = new WebClient(undefined, {
    ...clientOptions(server),
    timeout: 10_000,
    rejectRateLimitedCalls: true,
    // A refresh token works only once, so a retry would be refused.
    retryConfig: { retries: 0 },
  });
  const answer = await client.oauth.v2.access({
    client_id: clientId,
    client_secret: clientSecret,
    grant_type: "refresh_token",
    refresh_token: refreshToken,
  });
  const { access_token: botToken, refresh_token: next, expires_in: seconds } = answerSchema.parse(answer);
  return { botToken, rotation: { refreshToken: next, expiresAt: now + seconds * 1_000 } };
}
