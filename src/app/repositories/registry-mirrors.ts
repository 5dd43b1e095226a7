import { addressOfSource, type Registry } from "../../config/registries.ts";
import type { Settings } from "../../config/schema.ts";

/** A registry of the operator's own: what is read of it, and what tells programs to fetch from there. */
export interface RegistryMirror {
  /** All below these addresses is read. */
  folders: readonly string[];
  variables?: Readonly<Record<string, string>>;
  /** By their path in the sandbox. */
  files?: Readonly<Record<string, string>>;
}

/** Undefined where the public one counts. */
export function findMirror(
  registry: Registry,
  mirrors: Settings["egress"]["registries"],
): RegistryMirror | undefined {
  if (registry === "apt") return mirrors.apt && describeSources(mirrors.apt);
  const address = mirrors[registry];
  return address === undefined ? undefined : describeMirror(registry, address);
}

function describeMirror(registry: Exclude<Registry, "apt">, address: string): RegistryMirror {
  const { protocol, hostname, host } = new URL(address);
  switch (registry) {
    case "npm":
      // https://docs.npmjs.com/cli/v11/using-npm/config#environment-variables
      return { folders: [address], variables: { npm_config_registry: address } };
    case "pypi":
      return {
        folders: [folderBeside(address)],
        variables: {
          // https://pip.pypa.io/en/stable/topics/configuration/#environment-variables
          PIP_INDEX_URL: address,
          // https://docs.astral.sh/uv/reference/environment/
          UV_DEFAULT_INDEX: address,
          ...(protocol === "http:" && { PIP_TRUSTED_HOST: hostname, UV_INSECURE_HOST: host }),
        },
      };
    case "crates": {
      // A sparse index ends so: https://doc.rust-lang.org/cargo/reference/registry-index.html#index-protocols
      const index = `sparse+${address.replace(/\/*$/, "/")}`;
      return {
        folders: [folderBeside(address)],
        // No variable replaces a source, and the files of all folders above a project are read, up to this one:
        // https://doc.rust-lang.org/cargo/reference/config.html#hierarchical-structure, #sourcenamereplace-with
        files: {
          "/.cargo/config.toml": `[source.crates-io]\nreplace-with = "own"\n\n[source.own]\nregistry = ${JSON.stringify(index)}\n`,
        },
      };
    }
    case "go":
      // https://go.dev/ref/mod#environment-variables
      return { folders: [address], variables: { GOPROXY: address } };
  }
}

/** Servers of Python's packages, and of Rust's, keep the files beside the index. */
function folderBeside(address: string): string {
  return new URL(".", address.replace(/\/+$/, "")).href;
}

/**
 * apt.conf(5), for a place without /var, where nothing is installed: lists are fetched and packages downloaded, to be
 * unpacked with `dpkg -x`.
 */
const aptConfiguration = `Dir::State "/tmp/apt/";
Dir::State::status "/dev/null";
Dir::Cache "/tmp/apt/";
Dir::Log "/tmp/apt/";
Dir::Etc::parts "/dev/null";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
`;

function describeSources(lines: readonly string[]): RegistryMirror {
  return {
    folders: [...new Set(lines.flatMap((line) => addressOfSource(line) ?? []))],
    // apt looks for parts of its configuration before it reads the file in which it is told that there are none.
    variables: { APT_CONFIG: "/etc/apt/apt.conf" },
    files: { "/etc/apt/apt.conf": aptConfiguration, "/etc/apt/sources.list": `${lines.join("\n")}\n` },
  };
}
