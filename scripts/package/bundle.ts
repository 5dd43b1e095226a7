/** Puts the program and the packages that it uses into few files, because Node takes its time with every file. */
import { readFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { dirname, join, posix, relative, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type OutputChunk, type Plugin, type PluginContext, rolldown } from "rolldown";

const source = fileURLToPath(new URL("../../src", import.meta.url));

/** What packages ask for in vain unless somebody installs it beside them, and do without. */
const optional = [
  "@valkey/valkey-glide",
  "bufferutil",
  "canvas",
  "msgpackr-extract",
  "pg",
  "supports-color",
  "utf-8-validate",
  "zlib-sync",
];

/** What packages read at run time from beside their own code. */
const dataOfPackages: Record<string, readonly string[]> = {
  "lua-redis-wasm/dist/index.node.mjs": ["redis_lua.mjs", "redis_lua.wasm"],
};

/**
 * Writes the bundle of src/main.ts and of every program that it starts by its address.
 *
 * @returns the files that came from packages: modules, and what was copied
 * @throws where the bundle would need a package, or a file of one, that it has not got
 */
export async function writeBundle(folder: string): Promise<string[]> {
  const copied: string[] = [];
  const build = await rolldown({
    input: { main: join(source, "main.ts") },
    platform: "node",
    // The same where there is none.
    tsconfig: false,
    external: optional,
    plugins: [keepAddresses(copied)],
    onLog(level, log, report) {
      // A package's own affair.
      if (log.code !== "EVAL") report(level, log);
    },
  });
  const { output } = await build.write({
    dir: folder,
    // Node finds and links it in fewer steps than ESMs, and `strict` keeps what those are (decision 61).
    format: "cjs",
    strict: true,
    entryFileNames: "[name].cjs",
    // Without a hash: traces are read by people, and Node replaces what it has compiled of an earlier version.
    chunkFileNames: "chunks/[name].cjs",
    // Error messages and logs tell them.
    keepNames: true,
    // Of what is said in the code, licences alone have to go along.
    comments: { legal: true, annotation: false, jsdoc: false },
  });
  await build.close();
  const chunks = output.filter((file) => file.type === "chunk");
  refuseMissing(chunks);
  return [...chunks.flatMap(({ moduleIds }) => moduleIds).filter(isForeign), ...copied];
}

/** The bundler's own runtime, a part of every bundle, is other people's too. */
const isForeign = (id: string) => id.includes(`${sep}node_modules${sep}`) || id.startsWith("\0rolldown/");

function refuseMissing(chunks: readonly OutputChunk[]): void {
  const own = new Set(chunks.map(({ fileName }) => fileName));
  const imported = chunks.flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports]);
  const required = chunks.flatMap(({ code }) =>
    [...code.matchAll(/(?<!`)\brequire\("([^".][^"]*)"\)/g)].map(([, name = ""]) => name),
  );
  const missing = [...imported, ...required].filter(
    (name) => !own.has(name) && !isBuiltin(name) && !optional.includes(name),
  );
  if (missing.length > 0)
    throw new Error(`The bundle would need these packages beside it: ${[...new Set(missing)].join(", ")}.`);
}

const address = /\bimport\.meta\.(url|dirname|resolve)\b/;

/** Stands for the way from a chunk to the bundle's folder, which is known only when the chunk has its name. */
const root = "__HEDDLE_ROOT__";

/**
 * A module of ours reads what lies beside it: scripts, pages, programs that it starts. Its address stays the one that
 * it would have as a file of its own.
 */
function keepAddresses(copied: string[]): Plugin {
  return {
    name: "keep-addresses",
    transform: {
      filter: { id: { exclude: /^\0/ }, code: address },
      async handler(code, id) {
        if (isForeign(id)) return await keepDataOfPackage(this, code, id, copied);
        const place = withoutType(relative(source, id).replaceAll(sep, "/"));
        return await copyResolved(this, withAddress(startPrograms(this, code, id), place), copied);
      },
    },
    renderChunk(code, { fileName }) {
      return code.replaceAll(root, posix.relative(dirname(fileName), ".") || ".");
    },
  };
}

const withoutType = (path: string) => path.replace(/\.ts$/, ".cjs");

/** @param place of the module, in the bundle's folder */
const withAddress = (code: string, place: string) =>
  code
    .replaceAll(/\bimport\.meta\.url\b/g, `new URL("${root}/${place}", import.meta.url).href`)
    .replaceAll(/\bimport\.meta\.dirname\b/g, `(import.meta.dirname + "/${root}/${dirname(place)}")`);

/** Makes each program that is started by its address a file of its own. */
function startPrograms(context: PluginContext, code: string, id: string): string {
  return code.replaceAll(/new URL\("([^"]+\.ts)", import\.meta\.url\)/g, (_call, path: string) => {
    const program = join(dirname(id), path);
    context.emitFile({ type: "chunk", id: program, fileName: withoutType(relative(source, program)) });
    return `new URL("${withoutType(path)}", import.meta.url)`;
  });
}

/** Copies the files of packages that a module reads. */
async function copyResolved(context: PluginContext, code: string, copied: string[]): Promise<string> {
  let named = code;
  for (const [call, specifier = ""] of code.matchAll(/import\.meta\.resolve\("([^"]+)"\)/g)) {
    await copyFile(context, new URL(import.meta.resolve(specifier)), specifier, copied);
    named = named.replace(call, `new URL("${root}/vendor/${specifier}", import.meta.url).href`);
  }
  return named;
}

async function copyFile(context: PluginContext, file: URL, name: string, copied: string[]): Promise<void> {
  copied.push(fileURLToPath(file));
  context.emitFile({ type: "asset", fileName: `vendor/${name}`, source: await readFile(file) });
}

async function keepDataOfPackage(context: PluginContext, code: string, id: string, copied: string[]) {
  const name = id.slice(id.lastIndexOf("/node_modules/") + "/node_modules/".length);
  const data = dataOfPackages[name];
  if (data === undefined) {
    const isOnlyTold = code.split("\n").every((line) => !address.test(line) || /^\s*(\*|\/\/)/.test(line));
    if (isOnlyTold) return undefined;
    throw new Error(
      `${name} reads something beside it: say what in dataOfPackages (scripts/package/bundle.ts).`,
    );
  }
  for (const file of data)
    await copyFile(context, new URL(file, pathToFileURL(id)), `${dirname(name)}/${file}`, copied);
  return withAddress(code, `vendor/${name}`);
}
