import { mirrorVariables, type Registry, registryHosts } from "../../config/registries.ts";
import type { Settings } from "../../config/schema.ts";
import type { RegistryReach } from "../../sandbox/egress/site.ts";

/** What programs reach for these presets, by way of the operator's own registries where there are some. */
export function reachRegistries(
  presets: readonly Registry[],
  mirrors: Settings["egress"]["registries"],
): RegistryReach {
  const reach = { hosts: new Set<string>(), sites: new Map<string, RegistryReach["sites"][number]>() };
  let variables: Record<string, string> = {};
  for (const preset of presets) {
    const mirror = findMirror(preset, mirrors);
    if (mirror) {
      reach.sites.set(mirror.address, { url: new URL(mirror.folder), isNamed: true });
      variables = { ...variables, ...mirrorVariables(mirror.registry, mirror.address) };
    }
    const hosts = !mirror ? registryHosts[preset] : mirror.registry === "go" ? ["sum.golang.org"] : [];
    for (const host of hosts) reach.hosts.add(host);
    // What apt fetches is signed (apt-secure(8)), and most of its servers speak no TLS.
    if (preset === "apt") {
      for (const host of hosts) reach.sites.set(host, { url: new URL(`http://${host}/`) });
    }
  }
  return { hosts: [...reach.hosts], sites: [...reach.sites.values()], variables };
}

/** `folder`: what is read below. Servers of Python's packages keep the files beside the index. */
function findMirror(preset: Registry, mirrors: Settings["egress"]["registries"]) {
  if (preset === "crates" || preset === "apt") return undefined;
  const address = mirrors[preset];
  if (address === undefined) return undefined;
  const folder = preset === "pypi" ? new URL(".", address.replace(/\/+$/, "")).href : address;
  return { registry: preset, address, folder };
}

/** What the threads of each channel reach, by what the channel and its repositories name. */
export function readRegistries({
  channels,
  repositories,
  egress,
}: Pick<Settings, "channels" | "repositories" | "egress">): Record<string, RegistryReach> {
  const entries = Object.entries(channels).map(([id, channel]) => {
    const own = (channel.repositories ?? []).flatMap((name) => repositories[name]?.registries ?? []);
    return [id, reachRegistries([...(channel.registries ?? []), ...own], egress.registries)] as const;
  });
  return Object.fromEntries(entries.filter(([, reach]) => reach.hosts.length + reach.sites.length > 0));
}
