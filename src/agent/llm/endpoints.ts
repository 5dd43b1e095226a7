import { BlockList, isIP } from "node:net";

/** The two families of protocols; one service may speak both, below different paths of its host. */
export type WireProtocol = "anthropic" | "openai";

/** What a service speaks. */
export type EndpointProtocol = "anthropic" | "openai-chat" | "openai-responses";

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

/** Whether a base URL is of this machine or of a private network, where nobody sends a bill. */
export function isLocal(baseUrl: string): boolean {
  const host = URL.parse(baseUrl)?.hostname.replace(/^\[(.*)\]$/, "$1") ?? "";
  if (isIP(host)) return privateAddresses.check(host, isIP(host) === 6 ? "ipv6" : "ipv4");
  // A name without a dot is a neighbour: a container beside this one, a host of the same network.
  return host !== "" && (!host.includes(".") || /\.(localhost|local|internal)$/.test(host));
}

/** Loopback, RFC 1918, link-local, RFC 6598 (carrier and overlay networks), RFC 4193. */
const privateAddresses = new BlockList();
for (const [net, prefix, family] of [
  ["127.0.0.0", 8, "ipv4"],
  ["10.0.0.0", 8, "ipv4"],
  ["172.16.0.0", 12, "ipv4"],
  ["192.168.0.0", 16, "ipv4"],
  ["169.254.0.0", 16, "ipv4"],
  ["100.64.0.0", 10, "ipv4"],
  ["::1", 128, "ipv6"],
  ["fc00::", 7, "ipv6"],
  ["fe80::", 10, "ipv6"],
] as const)
  privateAddresses.addSubnet(net, prefix, family);

/** Whether a base URL is Anthropic's own service. */
export function isAnthropic(baseUrl: string): boolean {
  return URL.parse(baseUrl)?.hostname === "api.anthropic.com";
}

/** Whether a base URL is OpenAI's own service, regional hosts included. */
export function isOpenAI(baseUrl: string): boolean {
  const host = URL.parse(baseUrl)?.hostname;
  return host === "api.openai.com" || (host?.endsWith(".api.openai.com") ?? false);
}
