/** Addresses that are never asked for by way of a proxy. */
const loopback = ["localhost", "127.0.0.1", "::1", "[::1]"];

/** Whether variables of the environment name a proxy for what leaves this machine. */
export function namesProxy(env: NodeJS.ProcessEnv): boolean {
  return ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"].some((name) => Boolean(env[name]));
}

/**
 * What to set so that Node's own requests take the proxy that the environment names, here and in processes that are
 * started later; nothing where none is named, or where somebody has decided about it.
 * https://nodejs.org/api/cli.html#node_use_env_proxy1
 */
export function proxyVariables(env: NodeJS.ProcessEnv): Record<string, string> {
  if (!namesProxy(env) || env["NODE_USE_ENV_PROXY"] !== undefined) return {};
  const direct = [env["no_proxy"] ?? env["NO_PROXY"] ?? "", ...loopback].filter(Boolean).join(",");
  return { NODE_USE_ENV_PROXY: "1", NO_PROXY: direct, no_proxy: direct };
}
