import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { packagesOf } from "../../scripts/bootstrap/npm.js";

const root = join(import.meta.dirname, "../..");
const mebibyte = 1024 * 1024;

/** The files of a folder, without those of packages inside, which the lockfile lists by themselves. */
function sizeOf(folder: string): number {
  const sizes = readdirSync(folder, { withFileTypes: true }).map((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === "node_modules" ? 0 : sizeOf(path);
    return entry.isFile() ? statSync(path).size : 0;
  });
  return sizes.reduce((sum, size) => sum + size, 0);
}

test("What a start unpacks stays below 190 MiB", () => {
  const installed = packagesOf(join(root, "node_modules/.package-lock.json"));
  const sizes = Object.entries(installed).map(([path, { dev }]) => ({
    development: dev === true,
    size: sizeOf(join(root, path)) / mebibyte,
  }));
  const sum = (development: boolean) =>
    sizes.filter((each) => each.development === development).reduce((total, { size }) => total + size, 0);
  // The tests run where both are installed; a measure that sees nothing would bound nothing.
  expect(sum(true)).toBeGreaterThan(100);
  expect(sum(false)).toBeGreaterThan(100);
  expect(sum(false)).toBeLessThan(190);
});
