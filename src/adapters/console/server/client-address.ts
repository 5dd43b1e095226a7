import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";

/** Addresses and networks, as 10.0.0.7, 10.0.0.0/8 or fd00::/8. */
export interface AddressList {
  has(address: string): boolean;
}

/** @param entries as the settings have been checked to hold them */
export function createAddressList(entries: readonly string[]): AddressList {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = "", prefix] = entry.split("/");
    const family = familyOf(address);
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return { has: (address) => isIP(address) > 0 && list.check(address, familyOf(address)) };
}

/**
 * Who sends a request. Only a proxy that the settings name is believed: then it is the last address in `X-Forwarded-For`
 * that is no such proxy, for whoever stands before it may have written the others.
 */
export function findClientAddress(
  { socket, headers }: Pick<IncomingMessage, "socket" | "headers">,
  proxies: AddressList,
): string {
  const peer = socket.remoteAddress ?? "";
  if (!proxies.has(peer)) return peer;
  const forwarded = String(headers["x-forwarded-for"] ?? "").split(",");
  let client = peer;
  for (const named of forwarded.toReversed()) {
    const address = named.trim();
    if (isIP(address) === 0) return client;
    client = address;
    if (!proxies.has(address)) return client;
  }
  return client;
}

/** What one person may have many addresses of: the /64 of an IPv6 address, else the address itself. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (isIP(address) !== 6) return address;
  const [head = "", tail] = (address.split("%")[0] ?? "").split("::");
  const first = head.split(":").filter((group) => group !== "");
  const last = (tail ?? "").split(":").filter((group) => group !== "");
  const missing = tail === undefined ? 0 : Math.max(0, 8 - first.length - last.length);
  const groups = [...first, ...Array.from({ length: missing }, () => "0"), ...last];
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":");
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}
