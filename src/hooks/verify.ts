import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { TriggerSettings } from "../config/triggers.ts";

/** How far a sender's clock may be off, in both directions, s. */
const toleranceSeconds = 300;

/** Of a key in base64, bytes: what is none decodes to next to nothing. */
const shortestKey = 16;

/** How requests of one sender prove where they come from. */
export type Proof = Pick<TriggerSettings, "verify" | "header" | "idHeader">;

export interface HookRequest {
  headers: IncomingHttpHeaders;
  /** As it came: signatures are made of the bytes. */
  body: Buffer;
}

/**
 * Whether the request comes from whoever has the secret. Nothing of the body is read before.
 *
 * - github: https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
 * - standard-webhooks: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 * - slack: https://docs.slack.dev/authentication/verifying-requests-from-slack
 * - gitlab: https://docs.gitlab.com/user/project/integrations/webhooks/
 */
export function isGenuine(
  { verify, header = "" }: Proof,
  secret: string,
  { headers, body }: HookRequest,
  now: number,
): boolean {
  const read = (name: string) => readHeader(headers, name);
  switch (verify) {
    case "github":
      return isSame(read("x-hub-signature-256"), `sha256=${sign(secret, body)}`);
    case "hmac":
      return isSame(
        read(header)
          .replace(/^sha256=/i, "")
          .toLowerCase(),
        sign(secret, body),
      );
    case "slack": {
      const timestamp = read("x-slack-request-timestamp");
      const expected = `v0=${sign(secret, `v0:${timestamp}:`, body)}`;
      return isSame(read("x-slack-signature"), expected) && isRecent(timestamp, now);
    }
    case "standard-webhooks": {
      const [id, timestamp] = [read("webhook-id"), read("webhook-timestamp")];
      const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
      const expected = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64");
      // Several while the sender changes its secret. All are compared, whichever fits.
      const given = read("webhook-signature").split(" ").slice(0, 10);
      const fits = given.filter((one) => isSame(one, `v1,${expected}`));
      return key.length >= shortestKey && id !== "" && fits.length > 0 && isRecent(timestamp, now);
    }
    case "gitlab":
      return isSame(read("x-gitlab-token"), secret);
    case "bearer":
      return isSame(read("authorization").replace(/^bearer +/i, ""), secret);
  }
}

/**
 * What names the delivery: the same for each attempt to deliver it.
 * @param payload the parsed body, for services that number nothing
 */
export function nameDelivery(
  { verify, idHeader }: Proof,
  { headers, body }: HookRequest,
  payload: unknown,
): string {
  const given = readHeader(headers, idHeader ?? idHeaders[verify] ?? "");
  const named = given || (verify === "slack" ? slackEventId(payload) : alertGroupId(payload));
  return named ? hash(named) : hash(body);
}

const idHeaders: Partial<Record<TriggerSettings["verify"], string>> = {
  github: "x-github-delivery",
  "standard-webhooks": "webhook-id",
  gitlab: "idempotency-key",
};

function slackEventId(payload: unknown): string | undefined {
  const id = readMember(payload, "event_id");
  return typeof id === "string" ? id : undefined;
}

/**
 * What Slack asks back before it sends events to an address.
 * https://docs.slack.dev/reference/events/url_verification
 */
export function findSlackChallenge(payload: unknown): string | undefined {
  const challenge = readMember(payload, "challenge");
  const isAsked = readMember(payload, "type") === "url_verification" && typeof challenge === "string";
  return isAsked ? challenge : undefined;
}

/**
 * Each Alertmanager of a cluster may send the same notification, with an address of its own in it.
 * https://prometheus.io/docs/alerting/latest/configuration/#webhook_config
 */
function alertGroupId(payload: unknown): string | undefined {
  const [group, status, alerts] = ["groupKey", "status", "alerts"].map((name) => readMember(payload, name));
  if (typeof group !== "string" || !Array.isArray(alerts)) return undefined;
  const parts = ["fingerprint", "status", "startsAt"];
  const each = alerts.map((alert) => parts.map((part) => readMember(alert, part)));
  return JSON.stringify([group, status, each.map((one) => JSON.stringify(one)).toSorted()]);
}

function readMember(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  // Checked above: it is an object's own member.
  return (value as Record<string, unknown>)[name];
}

export function readHeader(headers: IncomingHttpHeaders, name: string): string {
  const value = headers[name.toLowerCase()];
  return typeof value === "string" ? value : "";
}

function sign(secret: string, ...parts: readonly (string | Buffer)[]): string {
  const hmac = createHmac("sha256", secret);
  for (const part of parts) hmac.update(part);
  return hmac.digest("hex");
}

/** In a time that tells nothing of either, their lengths included. */
function isSame(given: string, expected: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

function isRecent(timestamp: string, now: number): boolean {
  return /^\d{1,12}$/.test(timestamp) && Math.abs(now / 1_000 - Number(timestamp)) <= toleranceSeconds;
}

export function hash(data: string | Buffer): string {
  return createHash("sha256").update(data).digest("hex").slice(0, 32);
}
