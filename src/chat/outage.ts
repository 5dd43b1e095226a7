/**
 * What an outage of the store says, which is for people; undefined where the error is something else. An outage fails
 * many things at once, and each of them tells the same.
 */
export function explainOutage(error: unknown): string | undefined {
  return error instanceof Error && error.name === "RedisUnavailable" ? error.message : undefined;
}
