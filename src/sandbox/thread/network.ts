import type { Launched } from "./spawner.ts";

/**
 * The network that a thread's commands and jobs share: a loopback of their own, so that a server that one of them
 * started can be reached by the next, and the way to the thread's proxy where it has one.
 */
export interface ThreadNetwork {
  /** What holds the network, if anything does. */
  current(): Launched | undefined;
  /** Opens the network, if it is not. Undefined when that failed: then each command has a network of its own. */
  open(): Promise<Launched | undefined>;
  /** Ends it, with the connections through it. */
  close(): Promise<void>;
}

export const proxyPort = 3128;

/** Variables for programs in the thread's sandbox that tell where its proxy is. */
export function buildProxyVariables(variables: Readonly<Record<string, string>>): string[] {
  const address = `http://127.0.0.1:${proxyPort}`;
  const all = {
    ...Object.fromEntries(
      ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"].map((n) => [n, address]),
    ),
    no_proxy: "localhost,127.0.0.1,::1",
    NO_PROXY: "localhost,127.0.0.1,::1",
    NODE_USE_ENV_PROXY: "1",
    ...variables,
  };
  return Object.entries(all).flatMap(([name, value]) => ["--setenv", name, value]);
}
