import type { ModelErrorKind } from "../model.ts";

/**
 * Why an attempt failed. `message` is safe to show in a chat: no key, no URL, no body. For `transient` it is
 * a clause without a full stop ("The model service is busy (HTTP 529)"), as the number of attempts and the
 * advice are added to it; for every other kind it is the whole sentence.
 */
export class AttemptFailed extends Error {
  override readonly name = "AttemptFailed";
  readonly kind: ModelErrorKind;
  /** How long the service asked us to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** The service's own words, for the log only. */
  readonly detail: string;

  constructor(
    kind: ModelErrorKind,
    message: string,
    options: { retryAfterMs?: number | undefined; detail?: string } = {},
  ) {
    super(message);
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs;
    this.detail = options.detail ?? "";
  }
}
