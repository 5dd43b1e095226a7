import { BlockList, isIP } from "node:net";

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
// Where a cloud has its metadata beside the link-local address
// (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html).
linkLocal.addAddress("fd00:ec2::254", "ipv6");

/** Whether only the machine itself and its cloud are there. */
export function isLinkLocalAddress(address: string): boolean {
  return linkLocal.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}
