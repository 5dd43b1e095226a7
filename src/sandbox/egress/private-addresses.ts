import { BlockList, isIP } from "node:net";

/**
 * Where clouds keep what a machine may know and nobody else, beside the link-local addresses:
 *
 * - AWS (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html) and the accounts of its
 *   containers (https://docs.aws.amazon.com/eks/latest/userguide/pod-id-how-it-works.html)
 * - Google (https://cloud.google.com/compute/docs/metadata/querying-metadata)
 * - Alibaba (https://www.alibabacloud.com/help/en/ecs/user-guide/view-instance-metadata)
 * - Azure, at an address that looks like any public one
 *   (https://learn.microsoft.com/en-us/azure/virtual-network/what-is-ip-address-168-63-129-16)
 */
const cloudsV4 = ["168.63.129.16", "100.100.100.200"];
const cloudsV6 = [
  ["fd00:ec2::", 32],
  ["fd20:ce::", 64],
  // The link-local ones as a network of IPv6 alone reaches them (RFC 6052).
  ["64:ff9b::a9fe:0", 112],
] as const;

/** Everything that is not the public internet: the host, its neighbours, the cloud's metadata, special uses. */
const special = new BlockList();
for (const [network, prefix] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["224.0.0.0", 3],
] as const) {
  special.addSubnet(network, prefix, "ipv4");
}
for (const address of cloudsV4) special.addAddress(address, "ipv4");
/** Tunnels that carry IPv4 addresses, within the only public range of IPv6. */
for (const [network, prefix] of [
  ["2001::", 23],
  ["2002::", 16],
] as const) {
  special.addSubnet(network, prefix, "ipv6");
}
const publicV6 = new BlockList();
publicV6.addSubnet("2000::", 3, "ipv6");

/** Whether an address, as a resolver gives it, is one of the public internet. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !special.check(address, "ipv4");
    case 6:
      return publicV6.check(address, "ipv6") && !special.check(address, "ipv6");
    default:
      return false;
  }
}

const linkLocal = new BlockList();
linkLocal.addSubnet("169.254.0.0", 16, "ipv4");
linkLocal.addSubnet("fe80::", 10, "ipv6");
for (const address of cloudsV4) linkLocal.addAddress(address, "ipv4");
for (const [network, prefix] of cloudsV6) linkLocal.addSubnet(network, prefix, "ipv6");

/** Whether only the machine itself, its neighbours and its cloud are there. */
export function isLinkLocalAddress(address: string): boolean {
  return linkLocal.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}
