import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  export interface ProvidedContext {
    /** See `repository.ts`. */
    repository: string;
  }
}

const own = resolve(import.meta.dirname, "../../..");

/** Run by vitest before all tests; what it returns, after them. */
export default function openRepository({ provide }: TestProject): () => void {
  const copy = process.getuid?.() === 0 && !isOpenToAll(own) ? copyForAll() : undefined;
  provide("repository", copy ?? own);
  return () => {
    if (copy) rmSync(copy, { recursive: true, force: true });
  };
}

function isOpenToAll(folder: string): boolean {
  const mayPass = (statSync(folder).mode & 0o1) !== 0;
  return mayPass && (folder === dirname(folder) || isOpenToAll(dirname(folder)));
}

function copyForAll(): string {
  const folder = mkdtempSync(join(tmpdir(), "heddle-mcp-repository-"));
  chmodSync(folder, 0o755);
  cpSync(join(own, "package.json"), join(folder, "package.json"));
  cpSync(join(own, "tests/agent/mcp/servers"), join(folder, "tests/agent/mcp/servers"), { recursive: true });
  const packages = join(own, "node_modules");
  try {
    // Links are made in half a second; between two file systems there are none.
    execFileSync("cp", ["-al", packages, folder], { stdio: "ignore" });
  } catch {
    execFileSync("cp", ["-a", packages, folder]);
  }
  return folder;
}
