// What the path of a file tells about it.
export const sourcePath =
  /\.(?:[cm]?[jt]sx?|py|go|rs|java|kt|rb|php|cs|c|cc|cpp|h|hpp|swift|scala|ex|exs|lua|pl|pm|sh|vue|svelte)$/;
export const testPath =
  /(?:^|\/)(?:tests?|spec|__tests__|e2e)\/|[._-](?:test|spec)\.|(?:^|\/)test_|_test\.(?:go|py|rb|exs?)$|Tests?\.(?:java|kt|cs)$/;
export const prosePath = /\.(?:md|markdown|txt|rst|adoc)$/;
export const generatedPath =
  /(?:^|\/)(?:package-lock\.json|yarn\.lock|pnpm-lock\.yaml|Cargo\.lock|go\.sum|poetry\.lock|uv\.lock|Gemfile\.lock|composer\.lock)$|\.min\.(?:js|css)$|\.snap$|(?:^|\/)(?:dist|vendor|node_modules)\//;
