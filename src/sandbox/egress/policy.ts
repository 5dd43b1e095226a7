import { type EgressRepository, plainAddress } from "./repository.ts";
import type { EgressSite, RegistryReach } from "./site.ts";

/** What a thread may reach. */
export interface EgressPolicy {
  /** `example.com`, or `*.example.com` for every host below it (and not itself). */
  hosts: readonly string[];
  credentials: readonly Credential[];
  /** Beside those hosts, and only by git. */
  repositories?: readonly EgressRepository[];
  /** Beside those hosts, and only at these addresses. */
  sites?: readonly EgressSite[];
  /** What programs in the sandbox find in their environment, of where to fetch from. */
  variables?: Readonly<Record<string, string>>;
  /** The same in files, by their path in the sandbox. */
  files?: Readonly<Record<string, string>>;
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
  /** By channel too. */
  registries?: Readonly<Record<string, RegistryReach>>;
  /** Without `channels`, for every thread that may reach the host. */
  credentials: readonly (Credential & { channels?: readonly string[] | undefined })[];
}

/** The policy of a thread; undefined when it may reach nothing. @param repositories what its channel has of them */
export function policyFor(
  rules: EgressRules,
  threadId: string,
  repositories: readonly EgressRepository[] = [],
): EgressPolicy | undefined {
  const channel = threadId.split(":").slice(0, 3).join(":");
  const registries = rules.registries?.[channel];
  const own = [...(rules.channels[channel] ?? []), ...(registries?.hosts ?? [])];
  const hosts = [...new Set([...rules.allow, ...own])];
  const { sites = [], variables = {}, files = {} } = registries ?? {};
  if (hosts.length + repositories.length + sites.length === 0) return undefined;
  const credentials = rules.credentials.filter(
    ({ host, channels }) => isListed(hosts, host) && (channels?.includes(channel) ?? true),
  );
  return {
    ...{ hosts, credentials },
    ...(repositories.length > 0 && { repositories }),
    ...(sites.length > 0 && { sites, variables, files }),
  };
}

export function isListed(hosts: readonly string[], host: string): boolean {
  return hosts.some((rule) => (rule.startsWith("*.") ? host.endsWith(rule.slice(1)) : host === rule));
}

/** For the model: what it can reach, and how. Empty where it can reach nothing. */
export function describePolicy(policy: EgressPolicy | undefined): string {
  if (policy === undefined) return "";
  const { hosts, credentials, repositories = [], sites = [] } = policy;
  const named = sites.filter(({ isNamed }) => isNamed).map(({ url }) => url.href);
  const listed = credentials.map(({ host }) => `http://${host}/`).join(", ");
  const addresses = repositories.map(plainAddress).join(", ");
  return [
    ...(hosts.length > 0
      ? [
          `Commands reach these hosts over https and no others: ${hosts.join(", ")}. The proxy for them is set in the environment; it answers 403 for any other, 429 when this thread has moved its bytes of the day, 502 when a host cannot be reached and 503 when bytes cannot be counted at the moment.`,
        ]
      : []),
    ...(named.length > 0 ? [`Package managers are set up to fetch from here: ${named.join(", ")}.`] : []),
    ...(listed
      ? [
          `Write http instead of https for ${listed}: the proxy then uses TLS and signs in for you; git does so by itself.`,
        ]
      : []),
    ...(addresses
      ? [
          `git reaches these repositories and nothing else of their hosts, signed in by the proxy: ${addresses}. Pushing goes through the tool open_pull_request alone.`,
        ]
      : []),
  ].join(" ");
}
