/** Longer lists are cut. */
const mostCommands = 20;

/** A manifest with the commands that it defines. */
export function describeManifest(path: string, text: string): string {
  const names = commandsOf(path, text);
  if (names.length === 0) return path;
  const more = names.length > mostCommands ? ", ..." : "";
  return `${path}: ${names.slice(0, mostCommands).join(", ")}${more}`;
}

function commandsOf(path: string, text: string): string[] {
  const all = (pattern: RegExp, source: string = text) =>
    [...source.matchAll(pattern)].map(([, name = ""]) => name);
  if (path.endsWith("package.json")) {
    const scripts = /"scripts"\s*:\s*\{([^}]*)\}/.exec(text)?.[1] ?? "";
    return all(/"([\w:.-]+)"\s*:\s*"/g, scripts).map((name) => `npm run ${name}`);
  }
  if (path.endsWith("Makefile")) return all(/^([A-Za-z][\w.-]*)\s*:(?!=)/gm).map((name) => `make ${name}`);
  if (path.endsWith("justfile"))
    return all(/^([A-Za-z][\w-]*)[^:\n=]*:(?!=)/gm).map((name) => `just ${name}`);
  if (path.includes("pyproject")) {
    const scripts = /^\[project\.scripts\]\n((?:[\w-]+\s*=.*\n?)+)/m.exec(text)?.[1] ?? "";
    return all(/^([\w-]+)\s*=/gm, scripts);
  }
  return path.endsWith("Cargo.toml") ? all(/^\[\[bin\]\]\s*\nname\s*=\s*"([^"]+)"/gm) : [];
}
