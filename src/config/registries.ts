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

/** A line of sources.list(5) that can be read from a sandbox; `address` is where. */
const aptLine = /^deb (?:\[[^\]\n]*\] )?(?<address>https?:\/\/[^\s?#@]+) \S+(?: [\w./-]+)*$/;

/** Where a line of sources.list reads; undefined for what is none. */
export function addressOfSource(line: string): string | undefined {
  const address = aptLine.exec(line)?.groups?.["address"] ?? "";
  return URL.canParse(address) ? address : undefined;
}

export const registryMirrorsSchema = z
  .strictObject({
    npm: mirror
      .exactOptional()
      .describe("e.g. https://npm.example.com/; npm, pnpm and Yarn 1 read it (npm_config_registry)"),
    pypi: mirror
      .exactOptional()
      .describe("with its /simple; pip and uv read it (PIP_INDEX_URL, UV_DEFAULT_INDEX)"),
    crates: mirror
      .exactOptional()
      .describe(
        "a sparse index, e.g. https://cargo.example.com/index/; Cargo reads it in /.cargo/config.toml",
      ),
    go: mirror
      .exactOptional()
      .describe("go reads it (GOPROXY); sum.golang.org stays open, which go compares with"),
    apt: z
      .array(
        z
          .string()
          .refine(
            (line) => addressOfSource(line) !== undefined,
            "expected a line of sources.list without a credential, e.g. deb https://apt.example.com/debian stable main",
          ),
      )
      .min(1)
      .exactOptional()
      .describe("the lines of /etc/apt/sources.list, e.g. deb https://apt.example.com/debian stable main"),
  })
  .default({})
  .describe(
    "registries of your own, which the presets of these names open instead of the public ones; they may be private and have a port",
  );
