// `npm run try:package`: packs Heddle, installs the file into an empty folder as people do, and starts it there.
import { execFileSync } from "node:child_process";
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { prepare } from "./bootstrap/prepare.js";
import { root } from "./bootstrap/root.js";
import { reporting, SetupFailure } from "./bootstrap/speak.js";

const mebibyte = 1024 * 1024;
/** The archive, in which the packages that the program uses are bundled, and the folder with all dependencies. */
const most = { archive: 6 * mebibyte, installed: 200 * mebibyte };

await reporting(async () => {
  const node = await prepare({ development: true, sandbox: true });
  const folder = await mkdtemp(join(tmpdir(), "heddle-package-"));
  const env = { ...process.env, PATH: `${join(node, "..")}:${process.env.PATH}`, HEDDLE_LOG_LEVEL: "warn" };
  /** @type {(cwd: string, program: string, ...args: string[]) => string} */
  const run = (cwd, program, ...args) => execFileSync(program, args, { cwd, env, encoding: "utf8" });
  try {
    run(root, "npm", "pack", "--silent", "--pack-destination", folder);
    const [archive = ""] = await readdir(folder);
    await check("the archive", (await stat(join(folder, archive))).size, most.archive);
    run(folder, "npm", "init", "--yes", "--silent");
    run(folder, "npm", "install", "--silent", "--prefer-offline", "--no-audit", "--no-fund", `./${archive}`);
    await check("the installation", await measure(join(folder, "node_modules")), most.installed);
    for (const name of ["vitest", "typescript", "playwright-core"]) {
      const found = await stat(join(folder, "node_modules", name)).catch(() => undefined);
      if (found) throw new SetupFailure(`The package brings ${name}, which only its developers need.`);
    }
    await writeFile(join(folder, "heddle.yaml"), "demo: { stepDelayMs: 0 }\n");
    console.log(run(folder, "npx", "--no-install", "heddle", "--version").trim());
    console.log(run(folder, "npx", "--no-install", "heddle", "doctor").trim());
    await writeFile(join(folder, "answers.yaml"), "model: demo\n");
    const setup = run(folder, "npx", "--no-install", "heddle", "setup", "model", "--answers", "answers.yaml");
    if (!setup.includes("Start Heddle: npx heddle start"))
      throw new SetupFailure(`heddle setup of the installed package says another way to start it: ${setup}`);
    const said = run(folder, "npx", "--no-install", "heddle", "run", "Write a calculator", "--out", "out");
    const files = await readdir(join(folder, "out"));
    if (!said.includes("calculator.py") || !files.includes("calculator.py"))
      throw new SetupFailure("heddle run of the installed package did not do its task.");
    const client =
      "const { HeddleClient } = await import('heddle/client'); new HeddleClient({ url: 'http://127.0.0.1' });";
    run(folder, "node", "--input-type=module", "--eval", client);
    console.log("The installed package runs.");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

async function check(/** @type {string} */ what, /** @type {number} */ bytes, /** @type {number} */ limit) {
  console.log(`${what}: ${(bytes / mebibyte).toFixed(1)} MiB (at most ${limit / mebibyte})`);
  if (bytes > limit) throw new SetupFailure(`${what} has grown beyond ${limit / mebibyte} MiB.`);
}

async function measure(/** @type {string} */ folder) {
  let bytes = 0;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) bytes += (await stat(join(entry.parentPath, entry.name))).size;
  }
  return bytes;
}
