/** What a thread may reach. */
export interface EgressPolicy {
  /** `example.com`, or `*.example.com` for every host below it (and not itself). */
  hosts: readonly string[];
  credentials: readonly Credential[];
}

/** A request header that the proxy adds, so that the sandbox never has its value. */
export interface Credential {
  /** One host, exactly. */
  host: string;
  header: string;
  value: string;
}

/** The operator's rules. */
export interface EgressRules {
  /** For every thread. */
  allow: readonly string[];
  /** By `platform:workspace:channel`: hosts beside those, and `credentials` of this channel alone. */
  channels: Readonly<Record<string, readonly string[]>>;
  /** Without `channels`, for every thread that may reach the host. */
  credentials: readonly (Credential & { channels?: readonly string[] | undefined })[];
}

/** The policy of a thread; undefined when it may reach nothing. */
export function policyFor(rules: EgressRules, threadId: string): EgressPolicy | undefined {
  const channel = threadId.split(":").slice(0, 3).join(":");
  const hosts = [...new Set([...rules.allow, ...(rules.channels[channel] ?? [])])];
  if (hosts.length === 0) return undefined;
  const credentials = rules.credentials.filter(
    ({ host, channels }) => isListed(hosts, host) && (channels?.includes(channel) ?? true),
  );
  return { hosts, credentials };
}

export function isListed(hosts: readonly string[], host: string): boolean {
  return hosts.some((rule) => (rule.startsWith("*.") ? host.endsWith(rule.slice(1)) : host === rule));
}

/** For the model: what it can reach, and how. Empty where it can reach nothing. */
export function describePolicy(policy: EgressPolicy | undefined): string {
  if (policy === undefined) return "";
  const reach = `Commands reach these hosts over https and no others: ${policy.hosts.join(", ")}. The proxy for them is set in the environment; it answers 403 for any other, 429 when this thread has moved its bytes of the day, 502 when a host cannot be reached and 503 when bytes cannot be counted at the moment.`;
  if (policy.credentials.length === 0) return reach;
  const hosts = policy.credentials.map(({ host }) => `http://${host}/`).join(", ");
  return `${reach} Write http instead of https for ${hosts}: the proxy then uses TLS and signs in for you; git does so by itself.`;
}
