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
  /** What programs in the sandbox read of where to fetch from, by its path there. */
  files?: Readonly<Record<string, string>>;
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
  return sites.find(
    ({ url }) =>
      url.protocol === "http:" &&
      url.host === asked.host &&
      // A server may take an escaped slash for one, as those of npm do in a package's name, and `..;` for `..`, as those
      // in Java do that know parameters of a path's parts (RFC 3986, 3.3).
      readings(asked).every((path) => isBelow(path, url.pathname)),
  );
}

function isBelow(path: string, folder: string): boolean {
  return `${path}/`.startsWith(folder.replace(/\/*$/, "/"));
}

/** The path, and what it would be then, up and down the folders, whichever of both such a server sees first. */
function readings({ href, pathname }: URL): string[] {
  const unescape = (path: string) => path.replaceAll(/%2f|%5c/gi, "/");
  const strip = (path: string) => path.replaceAll(/(?:;|%3b)[^/]*/gi, "");
  const loose = [unescape(pathname), strip(unescape(pathname)), unescape(strip(pathname))];
  return [pathname, ...loose.map((path) => new URL(path.replaceAll(/\/{2,}/g, "/"), href).pathname)];
}
