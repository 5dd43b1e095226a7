import { createHash } from "node:crypto";

/** The limit of the OpenAI API, the smallest among the providers. */
const maxLength = 64;

/**
 * The name under which the model sees a server's tool: `server__tool`, in the characters and the length that
 * every model API takes. Whatever had to be changed to fit gets a hash of the original, so that two tools never
 * share a name, and a name stays the same whichever other servers there are.
 */
export function toModelToolName(server: string, tool: string): string {
  const name = `${server}__${tool}`.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
  // With an underscore at the seam, `a_` + `b` and `a` + `_b` would meet.
  const ambiguous = server.includes("__") || server.endsWith("_");
  if (name === `${server}__${tool}` && name.length <= maxLength && !ambiguous) return name;
  const hash = createHash("sha256")
    .update(JSON.stringify([server, tool]))
    .digest("hex")
    .slice(0, 10);
  return `${name.slice(0, maxLength - hash.length - 1)}_${hash}`;
}

/** The tool by which a person connects an account at a server; see `connect-tool.ts`. */
export function nameConnectTool(server: string): string {
  return toModelToolName(server, "connect_account");
}
