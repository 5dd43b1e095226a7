/** Builds what operators deploy: the program as a bundle, with its data and the notices of what it holds of others. */
import { cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { writeBundle } from "./bundle.ts";
import { collectNotices } from "./notices.ts";

const source = join(import.meta.dirname, "../../src");

/** Files that are read and not imported. The page's sources lose their types when they are served. */
const isData = (path: string) =>
  [".lua", ".yaml", ".css", ".html", ".svg", ".mts"].includes(extname(path)) ||
  (path.includes("console/page/") && path.endsWith(".ts"));

/**
 * Replaces what `folder` holds by the program, which heddle.js in it starts. Beside the folder it expects package.json
 * and skills, as beside `src`.
 */
export async function buildProgram(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  const foreign = await writeBundle(folder);
  for (const path of await readdir(source, { recursive: true })) {
    if (isData(path)) await cp(join(source, path), join(folder, path));
  }
  // For every Node that there is: it stays as it is.
  const entry = await readFile(join(source, "heddle.js"), "utf8");
  await writeFile(join(folder, "heddle.js"), entry.replace('"./main.ts"', '"./main.cjs"'), { mode: 0o755 });
  await writeFile(join(folder, "THIRD-PARTY-LICENSES"), await collectNotices(foreign));
}
