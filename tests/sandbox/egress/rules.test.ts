import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { openSandboxBackend } from "../../../src/app/sandbox.ts";
import { environmentSchema } from "../../../src/config/environment.ts";
import { settingsSchema } from "../../../src/config/schema.ts";
import { describePolicy, isListed, policyFor } from "../../../src/sandbox/egress/policy.ts";
import { judgeAddresses } from "../../../src/sandbox/egress/destination.ts";
import { isPublicAddress } from "../../../src/sandbox/egress/private-addresses.ts";

const place = { dataDir: "/nowhere", secretFiles: [] };

describe("an address", () => {
  test.each([
    ["the host itself", ["127.0.0.1", "127.8.8.8", "0.0.0.0", "::1", "::"]],
    ["private networks", ["10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fd00::1", "fc00::1"]],
    ["neighbours and the cloud's metadata", ["169.254.169.254", "fe80::1", "fd00:ec2::254"]],
    ["what a cloud tells its machines", ["168.63.129.16", "100.100.100.200", "192.0.0.192", "fd20:ce::254"]],
    ["carriers' networks", ["100.64.0.1", "100.127.255.255"]],
    ["many receivers, or none yet", ["224.0.0.1", "240.0.0.1", "255.255.255.255", "ff02::1"]],
    ["IPv4 in disguise", ["::ffff:127.0.0.1", "::ffff:a00:1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001::1"]],
    ["nothing at all", ["", "localhost", "1.2.3", "1.2.3.4:80"]],
  ])("of %s is not public", (_what, addresses) => {
    expect(addresses.filter(isPublicAddress)).toEqual([]);
  });

  test("of a cloud's metadata is none that a name may lead to, not even one that the operator has written down", () => {
    const addresses = [
      ...["169.254.169.254", "169.254.170.23", "fe80::1", "fe80::1%eth0", "::ffff:169.254.169.254"],
      ...["::ffff:a9fe:a9fe", "64:ff9b::a9fe:a9fe", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254"],
      ...["168.63.129.16", "::ffff:168.63.129.16", "100.100.100.200"],
    ];
    for (const address of addresses) {
      const { addresses: open, problem } = judgeAddresses("git.example", [address], { isNamed: true });
      expect([address, open]).toEqual([address, []]);
      expect(problem).toContain("where clouds keep their credentials");
    }
    const own = ["10.0.0.1", "100.64.0.1", "fd00::1", "127.0.0.1"];
    expect(judgeAddresses("git.example", own, { isNamed: true })).toEqual({ addresses: own });
  });

  test("of the internet is public", () => {
    const addresses = ["1.1.1.1", "93.184.216.34", "172.32.0.1", "100.128.0.1", "2606:4700::1111"];
    expect(addresses.filter(isPublicAddress)).toEqual(addresses);
  });
});

describe("a list of hosts", () => {
  test("names hosts exactly, or everything below one", () => {
    const hosts = ["example.com", "*.example.org"];
    expect(isListed(hosts, "example.com")).toBe(true);
    expect(isListed(hosts, "a.b.example.org")).toBe(true);
    for (const host of ["www.example.com", "example.org", "badexample.org", "example.com.evil.test", ""]) {
      expect(isListed(hosts, host)).toBe(false);
    }
  });

  test("never lets a host through that does not end with a listed name", () => {
    fc.assert(
      fc.property(fc.domain(), fc.domain(), (listed, host) => {
        const allowed = isListed([listed, `*.${listed}`], host);
        expect(allowed).toBe(host === listed || host.endsWith(`.${listed}`));
      }),
    );
  });
});

describe("the policy of a thread", () => {
  test("has the hosts of the channel from both places that can name them", () => {
    const settings = settingsSchema.parse({
      egress: { channels: { "slack:T1:C1": { allow: ["one.example.com"] } } },
      channels: {
        "slack:T1:C1": { network: ["two.example.com"] },
        "slack:T1:C2": { network: ["three.example.com"] },
      },
    });
    const environment = environmentSchema.parse({});
    const backend = openSandboxBackend({
      ...place,
      environment,
      settings,
      variables: {},
    });
    expect(backend.note("slack:T1:C1:1")).toMatch(/one\.example\.com.*two\.example\.com/);
    expect(backend.note("slack:T1:C2:1")).toContain("three.example.com");
    expect(backend.note("slack:T1:C3:1")).toBe("");
  });

  test("is refused where a credential is no value of a header", () => {
    const settings = settingsSchema.parse({
      egress: { allow: ["api.example"], credentials: [{ host: "api.example", variable: "KEY" }] },
    });
    const environment = environmentSchema.parse({});
    const open = () =>
      openSandboxBackend({ ...place, environment, settings, variables: { KEY: "Bearer x\n" } });
    expect(open).toThrow(/^KEY, which egress\.credentials names for api\.example, cannot be/);
  });

  const secret = { host: "api.example.com", header: "authorization", value: "Bearer hidden" };
  const rules = {
    allow: ["example.com"],
    channels: { "slack:T1:C1": ["api.example.com"], "slack:T1:C3": ["api.example.com"] },
    credentials: [{ ...secret, channels: ["slack:T1:C1"] }],
  };

  test("is that of everybody and that of its channel", () => {
    expect(policyFor(rules, "slack:T1:C1:1")?.hosts).toEqual(["example.com", "api.example.com"]);
    expect(policyFor(rules, "slack:T1:C2:1")?.hosts).toEqual(["example.com"]);
    expect(policyFor({ ...rules, allow: [] }, "slack:T1:C2:1")).toBeUndefined();
  });

  test("has a credential only where its channel and its host allow it", () => {
    expect(policyFor(rules, "slack:T1:C1:1")?.credentials).toHaveLength(1);
    expect(policyFor(rules, "slack:T1:C3:1")?.credentials).toEqual([]);
    expect(policyFor({ ...rules, channels: {} }, "slack:T1:C1:1")?.credentials).toEqual([]);
  });

  test("is told to the model without the value", () => {
    const text = describePolicy(policyFor(rules, "slack:T1:C1:1"));
    expect(text).toContain("http://api.example.com/");
    expect(text).not.toContain("hidden");
  });
});
