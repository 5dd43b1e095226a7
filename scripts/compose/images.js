import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "./podman.js";

const nodeVersion = "24.21.0";
const npmVersion = "11.19.1";

/**
 * Makes stand-ins for the two official images that the Dockerfile and the compose file name, from Debian packages
 * and from Node's npm package, for machines that reach no image registry. They are kept in `cache`.
 *
 * @param {{ cache: string, podman(...args: string[]): Promise<string> }} options
 */
export async function makeBaseImages({ cache, podman }) {
  const exists = (image) =>
    podman("image", "exists", image).then(
      () => true,
      () => false,
    );

  const node = "docker.io/library/node:24-bookworm-slim";
  if (!(await exists(node))) {
    await importDebian("bookworm", ["ca-certificates", "libstdc++6"], "localhost/debian:node");
    const parts = join(cache, "node");
    const modules = join(parts, "node_modules");
    const platform = `node-linux-${process.arch}`;
    await mkdir(parts, { recursive: true });
    const packages = [`${platform}@${nodeVersion}`, `npm@${npmVersion}`];
    await run(["npm", "install", "--prefix", parts, "--no-save", "--ignore-scripts", ...packages]);
    await build(node, modules, [
      "FROM localhost/debian:node",
      `COPY ${platform}/bin/node /usr/local/bin/node`,
      "COPY npm /usr/local/lib/node_modules/npm",
      "RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm \\",
      "  && groupadd --gid 1000 node && useradd --uid 1000 --gid node --create-home node",
    ]);
    await rm(parts, { recursive: true });
  }

  const valkey = "docker.io/valkey/valkey:8-bookworm";
  if (!(await exists(valkey))) {
    // The first Debian that has Valkey.
    await importDebian("trixie", ["valkey-server", "valkey-tools"], "localhost/debian:valkey");
    await mkdir(join(cache, "empty"), { recursive: true });
    await build(valkey, join(cache, "empty"), [
      "FROM localhost/debian:valkey",
      "RUN install --directory --owner=valkey --group=valkey /data",
      "USER valkey",
      "WORKDIR /data",
      "VOLUME /data",
    ]);
  }

  async function importDebian(suite, packages, image) {
    const root = join(cache, suite);
    await run(["debootstrap", "--variant=minbase", `--include=${packages.join(",")}`, suite, root]);
    await run(["tar", "--create", "--directory", root, "--file", `${root}.tar`, "."]);
    await podman("import", `${root}.tar`, image);
    await Promise.all([rm(root, { recursive: true }), rm(`${root}.tar`)]);
  }

  async function build(image, context, lines) {
    const file = join(cache, "Dockerfile");
    await writeFile(file, lines.join("\n"));
    await podman("build", "--quiet", "--tag", image, "--file", file, context);
  }
}

/**
 * Copies what a stack needs out of the repository, so that the developer's `.env` and settings are not touched.
 *
 * @param {{ from: string, to: string, environment: Record<string, string>, settings: string }} options
 */
export async function copyProject({ from, to, environment, settings }) {
  const parts = [
    ...["Dockerfile", ".dockerignore", "docker-compose.yml", "deploy"],
    ...["package.json", "package-lock.json", "LICENSE", "skills", "src"],
  ];
  for (const part of parts) await cp(join(from, part), join(to, part), { recursive: true });
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}\n`);
  await writeFile(join(to, ".env"), variables.join(""), { mode: 0o600 });
  await mkdir(join(to, "config"));
  await writeFile(join(to, "config/heddle.yaml"), settings);
}
