/**
 * The code of the network error (`ECONNREFUSED`) under a failed request, however deep an SDK has put it. It names no
 * host, so it may be shown.
 */
export function readNetworkCode(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ("code" in cause && typeof cause.code === "string" && /^[A-Z][A-Z0-9_]{2,40}$/.test(cause.code))
      return cause.code;
  }
  return undefined;
}
