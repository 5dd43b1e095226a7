import { type Registry, registryHosts } from "../../config/registries.ts";
import type { Settings } from "../../config/schema.ts";
import type { RegistryReach } from "../../sandbox/egress/site.ts";
import { findMirror } from "./registry-mirrors.ts";

/** What programs reach for these presets, by way of the operator's own registries where there are some. */
export function reachRegistries(
  presets: readonly Registry[],
  mirrors: Settings["egress"]["registries"],
): RegistryReach {
  const hosts = new Set<string>();
  const sites = new Map<string, RegistryReach["sites"][number]>();
  const variables: Record<string, string> = {};
  const files: Record<string, string> = {};
  for (const preset of new Set(presets)) {
    const mirror = findMirror(preset, mirrors);
    for (const folder of mirror?.folders ?? []) sites.set(folder, { url: new URL(folder), isNamed: true });
    Object.assign(variables, mirror?.variables);
    Object.assign(files, mirror?.files);
    const open = !mirror ? registryHosts[preset] : preset === "go" ? ["sum.golang.org"] : [];
    for (const host of open) hosts.add(host);
    // What apt fetches is signed (apt-secure(8)), and most of its servers speak no TLS.
    if (preset === "apt") for (const host of open) sites.set(host, { url: new URL(`http://${host}/`) });
  }
  return { hosts: [...hosts], sites: [...sites.values()], variables, files };
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
