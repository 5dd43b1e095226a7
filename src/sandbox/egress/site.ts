/** A place that programs of a thread reach at this very address, reading only where it is plain http. */
export interface EgressSite {
  /** All below it. Over https that is all of the host and port: what is asked for there is not seen. */
  url: URL;
  /** The operator vouches for the address, which may be private, and for its port. */
  isNamed?: boolean;
}

/** What package managers reach. */
export interface RegistryReach {
  hosts: readonly string[];
  sites: readonly EgressSite[];
  variables: Readonly<Record<string, string>>;
}

/** The site that a tunnel leads to, of those that the operator has named. */
export function findTunnelSite(
  sites: readonly EgressSite[],
  { host, port }: { host: string; port: number },
): EgressSite | undefined {
  return sites.find(
    ({ url, isNamed }) =>
      isNamed && url.protocol === "https:" && url.hostname === host && (Number(url.port) || 443) === port,
  );
}

/** The site that a plain request reads from. */
export function findPlainSite(
  sites: readonly EgressSite[],
  asked: URL,
  method: string | undefined,
): EgressSite | undefined {
  if (asked.protocol !== "http:" || !(method === "GET" || method === "HEAD")) return undefined;
  return sites.find(({ url }) => {
    const folder = url.pathname.replace(/\/*$/, "/");
    return (
      url.protocol === "http:" &&
      url.host === asked.host &&
      (asked.pathname.startsWith(folder) || `${asked.pathname}/` === folder)
    );
  });
}
