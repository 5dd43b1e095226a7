import { z } from "zod";
import { url } from "./values.ts";

/** Where package managers fetch from, in `heddle.yaml`. docs/repositories.md explains it. */

/** What each of them asks, by the name of a preset. */
export const registryHosts = {
  // https://docs.npmjs.com/cli/v11/using-npm/registry
  npm: ["registry.npmjs.org"],
  // https://packaging.python.org/en/latest/guides/index-mirrors-and-caches/; files are where the index says
  pypi: ["pypi.org", "files.pythonhosted.org"],
  // https://doc.rust-lang.org/cargo/reference/registry-index.html; https://index.crates.io/config.json names the second
  crates: ["index.crates.io", "static.crates.io"],
  // GOPROXY and GOSUMDB of https://go.dev/ref/mod#environment-variables
  go: ["proxy.golang.org", "sum.golang.org"],
  // https://wiki.debian.org/SourcesList, https://help.ubuntu.com/community/Repositories/CommandLine
  apt: [
    ...["deb.debian.org", "security.debian.org"],
    ...["archive.ubuntu.com", "security.ubuntu.com", "ports.ubuntu.com"],
  ],
} as const satisfies Record<string, readonly string[]>;

export type Registry = keyof typeof registryHosts;

export const registriesSchema = z.array(z.enum(["npm", "pypi", "crates", "go", "apt"]));

const mirror = url.refine(
  (text) => /^\/[^?#]*$/.test(URL.parse(text)?.pathname ?? "") && !/[?#@]/.test(text),
  "expected the address of a registry, without a credential",
);

/** Only for those whose programs are told by a variable which one to ask. */
export const registryMirrorsSchema = z
  .strictObject({
    npm: mirror
      .exactOptional()
      .describe("e.g. https://npm.example.com/; npm, pnpm and Yarn 1 read it (npm_config_registry)"),
    pypi: mirror
      .exactOptional()
      .describe("with its /simple; pip and uv read it (PIP_INDEX_URL, UV_DEFAULT_INDEX)"),
    go: mirror
      .exactOptional()
      .describe("go reads it (GOPROXY); sum.golang.org stays open, which go compares with"),
  })
  .default({})
  .describe(
    "registries of your own, which the presets of these names open instead of the public ones; they may be private and have a port",
  );

/** The variables that the programs of a registry read. */
export function mirrorVariables(registry: "npm" | "pypi" | "go", address: string): Record<string, string> {
  const { protocol, hostname, host } = new URL(address);
  const isPlain = protocol === "http:";
  switch (registry) {
    case "npm":
      // https://docs.npmjs.com/cli/v11/using-npm/config#environment-variables
      return { npm_config_registry: address };
    case "pypi":
      return {
        // https://pip.pypa.io/en/stable/topics/configuration/#environment-variables
        PIP_INDEX_URL: address,
        // https://docs.astral.sh/uv/reference/environment/
        UV_DEFAULT_INDEX: address,
        ...(isPlain && { PIP_TRUSTED_HOST: hostname, UV_INSECURE_HOST: host }),
      };
    case "go":
      // https://go.dev/ref/mod#environment-variables
      return { GOPROXY: address };
  }
}
