import { createHmac } from "node:crypto";
import type { Delivery, NewDelivery } from "./socket-mode.ts";

interface RequestsOptions {
  /** Where the app takes requests. */
  url: string;
  signingSecret: string;
  /** Milliseconds without an answer after which an event is sent again. Slack waits 3,000. */
  ackTimeoutMs: number;
  /** Slack tries three more times. */
  maxRetries: number;
  /** Called when a delivery has changed. */
  onChange(): void;
}

/** What a request carries that is not signed as it should be. */
interface Forgery {
  secret?: string;
  /** How old the request says it is. */
  ageSeconds?: number;
}

/** The HTTP side of events: signed requests, which the app must answer with 200 in time. */
export class Requests {
  readonly deliveries: Delivery[] = [];
  readonly #options: RequestsOptions;

  constructor(options: RequestsOptions) {
    this.#options = options;
  }

  deliver(delivery: NewDelivery): Delivery {
    const entry: Delivery = { ...delivery, attempts: 0, isAcknowledged: false };
    this.deliveries.push(entry);
    void this.#send(entry);
    return entry;
  }

  /** Sends a body once, as Slack would or as somebody who would like to be Slack, and gives the answer. */
  async post(body: string, type: string, forgery: Forgery = {}, retries = 0): Promise<Response> {
    const { url, signingSecret, ackTimeoutMs } = this.#options;
    const time = Math.floor(Date.now() / 1_000) - (forgery.ageSeconds ?? 0);
    const signature = createHmac("sha256", forgery.secret ?? signingSecret).update(`v0:${time}:${body}`);
    return fetch(url, {
      method: "POST",
      headers: {
        "content-type": type,
        "x-slack-request-timestamp": String(time),
        "x-slack-signature": `v0=${signature.digest("hex")}`,
        ...(retries > 0 && { "x-slack-retry-num": String(retries), "x-slack-retry-reason": "http_error" }),
      },
      body,
      signal: AbortSignal.timeout(ackTimeoutMs),
    });
  }

  async #send(delivery: Delivery): Promise<void> {
    delivery.attempts += 1;
    const [body, type] = encode(delivery);
    try {
      const response = await this.post(body, type, {}, delivery.attempts - 1);
      const answer = await response.text();
      delivery.isAcknowledged = response.ok;
      if (response.ok) delivery.onAnswer?.(read(answer));
    } catch {
      // No answer in time, or none at all.
    }
    if (!delivery.isAcknowledged && delivery.kind !== "events_api") delivery.hasFailed = true;
    this.#options.onChange();
    const isRepeated = delivery.kind === "events_api" && delivery.attempts <= this.#options.maxRetries;
    if (!delivery.isAcknowledged && isRepeated) await this.#send(delivery);
  }
}

/** An answer is JSON, text for the person, or nothing. */
function read(answer: string): unknown {
  if (answer === "") return {};
  return answer.startsWith("{") ? JSON.parse(answer) : { text: answer };
}

function encode({ kind, payload }: Delivery): [body: string, type: string] {
  const form = "application/x-www-form-urlencoded";
  switch (kind) {
    case "events_api":
      return [JSON.stringify(payload), "application/json"];
    case "interactive":
      return [new URLSearchParams({ payload: JSON.stringify(payload) }).toString(), form];
    case "slash_commands": {
      const fields = Object.entries(payload).map(([name, value]) => [name, String(value)]);
      return [new URLSearchParams(fields).toString(), form];
    }
  }
}
