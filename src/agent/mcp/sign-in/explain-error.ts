import { OAuthError } from "@modelcontextprotocol/sdk/server/auth/errors.js";

const shownChars = 300;

/**
 * Why an authorization server's answer was of no use, as a clause for people. The SDK's own words hold a whole page where
 * a proxy has answered, a list of schema faults where the form is another, and nothing where an error has no description.
 */
export function explainError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name.endsWith("ZodError")) return "its answer has another form than the protocol's";
  const status = /^HTTP (\d{3}): Invalid OAuth error response/.exec(error.message)?.[1];
  if (status !== undefined) return `it answered with HTTP ${status}`;
  const code = error instanceof OAuthError ? error.errorCode : error.name;
  return (error.message || code).replaceAll(/\s+/g, " ").slice(0, shownChars);
}
