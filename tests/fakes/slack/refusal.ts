/** Slack's way to say no: HTTP 200 with `ok: false`, a code, and what else belongs to it. */
export class Refusal extends Error {
  readonly code: string;
  readonly details: Record<string, unknown>;

  constructor(code: string, details: Record<string, unknown> = {}) {
    super(code);
    this.code = code;
    this.details = details;
  }
}

/** The refusal of arguments, with Slack's explanations. */
export function invalid(code: string, ...messages: string[]): Refusal {
  return new Refusal(code, { response_metadata: { messages } });
}
