// `npm pack` runs this first: writes the program and `heddle/agent` to dist/ as JavaScript, because Node strips no types
// in node_modules, and pins the versions of all dependencies. `--clean` afterwards takes the pins away again.
import { cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { root } from "./bootstrap/root.js";
import { run } from "./bootstrap/run.js";
import { reporting, SetupFailure } from "./bootstrap/speak.js";

const dist = join(root, "dist");
// What npm publishes of a lockfile; with it whoever installs the package gets the versions that were tested.
const pins = join(root, "npm-shrinkwrap.json");

/** Files that are read and not imported. The page's sources lose their types when they are served. */
const isData = (/** @type {string} */ path) =>
  [".lua", ".yaml", ".css", ".html", ".svg", ".mts"].includes(extname(path)) ||
  (path.includes("console/page/") && path.endsWith(".ts"));

async function build() {
  // What an earlier build left would be packed too.
  await rm(dist, { recursive: true, force: true });
  // The library first: it has types, and the program's files are the same without comments.
  for (const project of ["tsconfig.library.json", "tsconfig.package.json"]) {
    const { code } = await run(process.execPath, ["node_modules/typescript/bin/tsc", "--project", project]);
    if (code !== 0) throw new SetupFailure("The package was not built. Correct what is listed above.");
  }
  for (const path of await readdir(join(root, "src"), { recursive: true })) {
    if (isData(path)) await cp(join(root, "src", path), join(dist, path));
  }
  for (const path of await readdir(dist, { recursive: true })) {
    if (path.endsWith(".js")) await renamePrograms(join(dist, path));
  }
  await cp(join(root, "package-lock.json"), pins);
}

/** The compiler renames what is imported; programs that are started by their address are named in strings. */
async function renamePrograms(/** @type {string} */ path) {
  const source = await readFile(path, "utf8");
  const renamed = source.replaceAll(/(new URL\("[^"]+)\.ts"(?=, import\.meta\.url\))/g, '$1.js"');
  if (renamed !== source) await writeFile(path, renamed);
}

await reporting(process.argv[2] === "--clean" ? () => rm(pins, { force: true }) : build);
