/** Whoever passes on other people's code has to pass on their notices. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** What a package says of itself; older ones give an object, or a list of them. */
interface Manifest {
  name?: string;
  version?: string;
  license?: string | { type?: string };
  licenses?: readonly { type?: string }[];
}

/**
 * Name, version and licence of every package that these files belong to.
 *
 * @throws where a package does not say under which licence it is
 */
export async function collectNotices(files: Iterable<string>): Promise<string> {
  const folders = new Set([...files].map(folderOf));
  const notices = new Map<string, string>();
  for (const folder of folders) {
    const { title, text } = await readNotice(folder);
    notices.set(title, text);
  }
  const titles = [...notices.keys()].toSorted();
  return titles
    .map((title) => `${title}\n${"-".repeat(title.length)}\n\n${notices.get(title)}\n`)
    .join("\n\n");
}

/** The folder of the package that a file belongs to. */
function folderOf(file: string): string {
  // The bundler's runtime is no file.
  if (file.startsWith("\0rolldown/"))
    return fileURLToPath(new URL("../../node_modules/rolldown", import.meta.url));
  const [folder] = /^.*[\\/]node_modules[\\/](@[^\\/]+[\\/])?[^\\/]+/.exec(file) ?? [];
  if (folder === undefined) throw new Error(`${file} belongs to no package.`);
  return folder;
}

async function readNotice(folder: string): Promise<{ title: string; text: string }> {
  // Written by npm's publishers; what matters is looked at.
  const manifest = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as Manifest;
  const title = `${manifest.name} ${manifest.version}`;
  const licence = licenceOf(manifest);
  const names = (await readdir(folder)).filter((name) => /^(licen[cs]e|copying|notice)([-.]|$)/i.test(name));
  const texts = await Promise.all(names.toSorted().map((name) => readFile(join(folder, name), "utf8")));
  if (texts.length === 0 && licence === undefined)
    throw new Error(
      `The bundle holds ${title}, which has neither a licence file nor a license field in its package.json: use another package, or none.`,
    );
  return { title, text: [licence ?? "", ...texts.map((text) => text.trim())].filter(Boolean).join("\n\n") };
}

function licenceOf({ license, licenses = [] }: Manifest): string | undefined {
  const named = typeof license === "object" ? [license] : licenses;
  return typeof license === "string" ? license : named.map(({ type }) => type).join(" or ") || undefined;
}
