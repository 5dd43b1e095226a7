import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";

/** Files that other programs read: what can be checked of them without those programs. */

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const packageJson = z
  .object({
    version: z.string(),
    engines: z.object({ node: z.string() }),
    scripts: z.record(z.string(), z.string()),
  })
  .parse(JSON.parse(read("package.json")));

const step = z.looseObject({
  uses: z.string().optional(),
  run: z.string().optional(),
  with: z.record(z.string(), z.unknown()).optional(),
});
const workflowSchema = z.looseObject({
  on: z.record(z.string(), z.unknown()),
  permissions: z.record(z.string(), z.string()),
  jobs: z.record(
    z.string(),
    z.looseObject({
      if: z.string().optional(),
      "timeout-minutes": z.number(),
      permissions: z.record(z.string(), z.string()).optional(),
      steps: z.array(step),
    }),
  ),
});
const workflows = globSync(".github/workflows/*.yml", { cwd: root });

describe.each(workflows)("The workflow %s", (path) => {
  const workflow = workflowSchema.parse(parse(read(path)));
  const steps = Object.entries(workflow.jobs).flatMap(([job, { steps: list }]) =>
    list.map((one) => ({ job, ...one })),
  );

  test("may do nothing but read, unless a job says what else it needs", () => {
    expect(workflow.permissions).toEqual({ contents: "read" });
  });

  test("uses actions by their commit, with the version beside it", () => {
    const uses = [...read(path).matchAll(/uses: (.*)$/gm)].map(([, action = ""]) => action);
    expect(uses.length).toBeGreaterThan(0);
    for (const action of uses) expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  test("runs only scripts that there are", () => {
    const scripts = steps.flatMap(({ run = "" }) =>
      [...run.matchAll(/npm run ([\w:]+)/g)].map(([, name = ""]) => name),
    );
    expect(scripts.filter((name) => !packageJson.scripts[name])).toEqual([]);
  });

  test("publishes only for a tag", () => {
    const publishing = steps.filter(
      ({ run = "", with: given }) => /npm publish/.test(run) || given?.["push"] === true,
    );
    const writing = Object.entries(workflow.jobs).filter(([, { permissions = {} }]) =>
      Object.values(permissions).includes("write"),
    );
    for (const job of new Set([...publishing.map((one) => one.job), ...writing.map(([name]) => name)])) {
      expect(workflow.on).toEqual({ push: { tags: ["v*.*.*"] } });
      expect(workflow.jobs[job]?.if).toBe("startsWith(github.ref, 'refs/tags/v')");
    }
    if (path.endsWith("release.yml")) expect(publishing.length).toBe(2);
  });
});

test("Continuous integration runs the package on the oldest Node that is supported", () => {
  const oldest = packageJson.engines.node.replace(">=", "");
  expect(parse(read(".github/workflows/ci.yml"))).toMatchObject({
    jobs: { nodes: { strategy: { matrix: { node: expect.arrayContaining([oldest]) } } } },
  });
});

test("The changelog has an entry for the version, and the chart names it", () => {
  expect(read("CHANGELOG.md")).toContain(`## [${packageJson.version}]`);
  expect(parse(read("deploy/helm/heddle/Chart.yaml"))).toMatchObject({ appVersion: packageJson.version });
});

test("Forms and settings of the repository can be read", () => {
  const form = z.looseObject({
    name: z.string(),
    description: z.string(),
    body: z.array(z.looseObject({ type: z.string() })),
  });
  for (const path of ["bug", "idea"]) form.parse(parse(read(`.github/ISSUE_TEMPLATE/${path}.yml`)));
  expect(JSON.parse(read("renovate.json"))).toMatchObject({ rangeStrategy: "pin" });
});

describe("Monitoring", () => {
  const code = ["src/telemetry/metrics.ts", "src/telemetry/shared-gauges.ts"].map(read).join("\n");
  const names = new Set([...code.matchAll(/["`](heddle_\w+)["`]/g)].map(([, name = ""]) => name));
  const metricsOf = (text: string) =>
    [...text.matchAll(/heddle_\w+/g)].map(([name]) => name.replace(/_(bucket|sum|count)$/, ""));

  test.each(["deploy/monitoring/alerts.yaml", "deploy/monitoring/dashboard.json"])(
    "%s uses only metrics that there are",
    (path) => {
      const used = metricsOf(read(path));
      expect(used.length).toBeGreaterThan(8);
      expect(used.filter((name) => !names.has(name))).toEqual([]);
    },
  );

  test("there is an alert on all that docs/telemetry.md names", () => {
    const [, named = ""] = /^Alert on: (.*)$/m.exec(read("docs/telemetry.md")) ?? [];
    const alerts = new Set(metricsOf(read("deploy/monitoring/alerts.yaml")));
    expect(metricsOf(named).filter((name) => !alerts.has(name))).toEqual([]);
  });

  test("each alert says how bad it is and what it means", () => {
    const rule = z.strictObject({
      ...{ alert: z.string(), expr: z.string(), for: z.string().optional() },
      labels: z.strictObject({ severity: z.enum(["critical", "warning"]) }),
      annotations: z.strictObject({ summary: z.string() }),
    });
    z.object({ groups: z.array(z.object({ name: z.string(), rules: z.array(rule) })) }).parse(
      parse(read("deploy/monitoring/alerts.yaml")),
    );
  });
});

test("A container of docker-compose.yml reads its files again at a SIGHUP, and ends at a SIGTERM", async () => {
  const compose = z
    .object({ "x-heddle": z.object({ entrypoint: z.array(z.string()) }) })
    .parse(parse(read("docker-compose.yml")));
  const [, , , , , script = ""] = compose["x-heddle"].entrypoint;
  const folder = mkdtempSync(join(tmpdir(), "heddle-compose-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const program = [
    "#!/usr/bin/env node",
    'process.on("SIGHUP", () => console.log("read"));',
    'process.on("SIGTERM", () => process.exit(0));',
    'setInterval(() => {}, 1_000); console.log("serving");',
  ];
  writeFileSync(join(folder, "heddle"), program.join("\n"), { mode: 0o755 });
  const env = { PATH: `${folder}:${process.env["PATH"]}` };
  // A group of its own, to all of which tini passes signals on.
  const shell = spawn("sh", ["-c", script.replaceAll("$$", "$"), "heddle", "start"], {
    ...{ env, detached: true, stdio: ["ignore", "pipe", "inherit"] },
  });
  const ended = once(shell, "exit");
  const lines = createInterface(shell.stdout)[Symbol.asyncIterator]();
  const signal = (name: NodeJS.Signals) => process.kill(-(shell.pid ?? 0), name);
  expect((await lines.next()).value).toBe("serving");
  signal("SIGHUP");
  expect((await lines.next()).value).toBe("read");
  signal("SIGTERM");
  expect(await ended).toEqual([0, null]);
});

test("The Helm chart's templates name only values that there are", () => {
  const chart = "deploy/helm/heddle";
  const values: unknown = parse(read(`${chart}/values.yaml`));
  const find = (name: string) =>
    name.split(".").reduce((at: unknown, key) => (at as Record<string, unknown> | undefined)?.[key], values);
  for (const path of globSync(`${chart}/templates/*`, { cwd: root })) {
    for (const [, name = ""] of read(path).matchAll(/\.Values\.([\w.]+)/g)) {
      expect({ path, name, isThere: find(name) !== undefined }).toEqual({ path, name, isThere: true });
    }
  }
});
