// What the name of a file tells about it.
const languages = new Map([
  ["TypeScript", "ts tsx mts"],
  ["JavaScript", "js mjs cjs jsx"],
  ["Python", "py"],
  ["Go", "go"],
  ["Rust", "rs"],
  ["Java", "java"],
  ["Kotlin", "kt"],
  ["Ruby", "rb"],
  ["PHP", "php"],
  ["C#", "cs"],
  ["C", "c h"],
  ["C++", "cc cpp hpp"],
  ["Swift", "swift"],
  ["Scala", "scala"],
  ["Elixir", "ex exs"],
  ["Lua", "lua"],
  ["Perl", "pl pm"],
  ["Shell", "sh bash"],
  ["SQL", "sql"],
  ["Vue", "vue"],
  ["Svelte", "svelte"],
  ["HTML", "html"],
  ["CSS", "css scss"],
  ["Markdown", "md"],
  ["reStructuredText", "rst"],
  ["YAML", "yml yaml"],
  ["JSON", "json"],
  ["TOML", "toml"],
  ["Terraform", "tf"],
  ["Protocol Buffers", "proto"],
  ["Dart", "dart"],
  ["Zig", "zig"],
]);
const byExtension = new Map(
  [...languages].flatMap(([name, extensions]) => extensions.split(" ").map((extension) => [extension, name])),
);

/** The language of a file, by its extension. */
export function languageOf(path: string): string | undefined {
  return byExtension.get(/\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? "");
}

/** Generated and vendored files. */
export const leftOut =
  /(?:^|\/)(?:node_modules|vendor|third_party|dist|build|target|\.venv|__pycache__)\/|(?:^|\/)(?:package-lock\.json|yarn\.lock|pnpm-lock\.yaml|Cargo\.lock|go\.sum|poetry\.lock|uv\.lock|Gemfile\.lock|composer\.lock)$|\.min\.(?:js|css)$|\.(?:snap|map|svg|lock)$/;
export const entryPoint =
  /^(?:(?:src|app|lib|bin|packages\/[^/]+(?:\/src)?|apps\/[^/]+(?:\/src)?)\/)?(?:main|index|app|server|cli|__main__|manage|wsgi|asgi|lib|mod)\.(?:[cm]?[jt]sx?|py|go|rs|rb|php|java|kt)$|^cmd\/[^/]+\/main\.go$|^bin\/[^/]+$|(?:^|\/)(?:Main|Application|Program)\.(?:java|kt|cs)$/;
export const document =
  /^(?:README|CONTRIBUTING|ARCHITECTURE|AGENTS|CLAUDE|CHANGELOG|SECURITY|HACKING|DEVELOPMENT)[^/]*$|^docs?\/[^/]+\.(?:md|rst|adoc)$/i;
export const pipeline =
  /^\.github\/workflows\/|^\.gitlab-ci|^Jenkinsfile|^\.circleci\/|^azure-pipelines|(?:^|\/)Dockerfile[^/]*$|(?:^|\/)(?:docker-)?compose[^/]*\.ya?ml$/;
export const test =
  /(?:^|\/)(?:tests?|spec|__tests__|e2e)\/|[._-](?:test|spec)\.|(?:^|\/)test_|_test\.(?:go|py|rb|exs?)$/;
export const manifest =
  /^(?:[^/]+\/){0,2}(?:package\.json|Makefile|justfile|pyproject\.toml|Cargo\.toml|go\.mod|Gemfile|composer\.json|pom\.xml|build\.gradle(?:\.kts)?)$/;

/** Two levels below the folders that hold most of a repository, one level elsewhere. */
export function topFolder(path: string): string {
  const [, deep] =
    /^((?:src|lib|app|apps|packages|crates|internal|pkg|cmd|services|modules)\/[^/]+)\//.exec(path) ?? [];
  const folder = deep ?? /^([^/]+)\//.exec(path)?.[1];
  return folder === undefined ? "(top)" : `${folder}/`;
}
