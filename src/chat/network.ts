import { readNetworkCode } from "../agent/network-code.ts";

const unsent = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);

/** Whether the connection was never made, so that nothing was sent. */
export function isUnsent(error: unknown): boolean {
  return unsent.has(readNetworkCode(error) ?? "");
}
