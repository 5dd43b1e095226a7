/** The two families of protocols; one service may speak both, below different paths of its host. */
export type WireProtocol = "anthropic" | "openai";

/** What a service speaks. */
export type Protocol = "anthropic" | "openai-chat" | "openai-responses";

const miniMaxHosts = new Set(["api.minimax.io", "api.minimaxi.com"]);
const miniMaxPath: Record<WireProtocol, string> = { anthropic: "/anthropic", openai: "/v1" };

/** Whether a base URL is MiniMax's own service. The host must match exactly: a look-alike is somebody else's. */
export function isMiniMax(baseUrl: string): boolean {
  const url = URL.parse(baseUrl);
  return url !== null && miniMaxHosts.has(url.hostname);
}

/**
 * The base URL as the SDK of `protocol` wants it, without a trailing slash.
 *
 * MiniMax serves the Anthropic protocol below `/anthropic` and the OpenAI one below `/v1`; the right path
 * replaces whichever the operator wrote, or is added. Other addresses are left as they are:
 *
 *     https://api.minimax.io/v1/   -> https://api.minimax.io/anthropic   (anthropic)
 *     https://proxy.example/v1/    -> https://proxy.example/v1           (either)
 */
export function resolveBaseUrl(baseUrl: string, protocol: WireProtocol): string {
  const bare = baseUrl.trim().replace(/\/+$/, "");
  if (!isMiniMax(bare)) return bare;
  return bare.replace(/(\/(anthropic|v1))+$/, "") + miniMaxPath[protocol];
}

/** Whether a base URL is OpenAI's own service, regional hosts included. */
export function isOpenAI(baseUrl: string): boolean {
  const host = URL.parse(baseUrl)?.hostname;
  return host === "api.openai.com" || (host?.endsWith(".api.openai.com") ?? false);
}
