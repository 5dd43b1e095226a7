import { readNetworkCode } from "../agent/network/network-code.ts";

const unsent = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);

/** Whether no connection was established, so that nothing was sent and a retry is safe. */
export function isUnsent(error: unknown): boolean {
  return unsent.has(readNetworkCode(error) ?? "");
}
