import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { expect, test } from "vitest";

/** The agent's interface: its top folder, and what it is given, stores and shares. How it works is its own. */
const agent = [
  "agent/*",
  ...["contracts", "images", "journal", "network", "secrets", "text"].map((room) => `agent/${room}/*`),
];

/**
 * Who may import whom, one folder a rule. `room/*` means the files that lie in the room's top folder and not its
 * inner rooms: what `sandbox/*` holds is its interface. Type imports count like all others.
 */
const allowed: Record<string, readonly string[]> = {
  chat: [...agent],
  config: [...agent],
  agent: ["sandbox/*"],
  sandbox: [],
  client: [],
  "adapters/slack": ["chat", ...agent],
  "adapters/discord": ["chat", ...agent],
  "adapters/console": ["chat", ...agent, "sandbox/*", "operations"],
  intake: ["chat", ...agent, "queue"],
  "message-extras": ["chat", ...agent, "sandbox/*"],
  web: [...agent, "sandbox/egress/*"],
  previews: [...agent, "sandbox/*"],
  repositories: [...agent, "sandbox/egress/*"],
  queue: ["chat", ...agent, "sandbox/*"],
  accounts: ["chat", ...agent, "agent/mcp/*", "agent/mcp/sign-in/*", "intake", "queue"],
  hooks: ["chat", ...agent, "queue", "config"],
  progress: ["chat", ...agent, "queue"],
  operations: ["chat", ...agent, "sandbox/*", "queue", "telemetry"],
  telemetry: ["chat", ...agent, "sandbox/*", "queue", "intake", "config"],
  setup: ["chat", "config", "agent", "adapters/slack", "adapters/discord"],
  app: ["*"],
  commands: ["*"],
  "main.ts": ["*"],
};

const root = resolve(import.meta.dirname, "../src");

const files = readdirSync(root, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts"))
  .map((path) => ({ path, imports: importsOf(path) }));

/** Paths relative to src/ that a file imports, types included. */
function importsOf(path: string): string[] {
  const text = readFileSync(join(root, path), "utf8");
  const specifiers = [...text.matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g)].map((match) => match[1] ?? "");
  const targets = specifiers.map((specifier) => relative(root, resolve(root, dirname(path), specifier)));
  return targets.filter((target) => !target.startsWith("../"));
}

function roomOf(path: string): string {
  const room = Object.keys(allowed).find((name) => path === name || path.startsWith(`${name}/`));
  if (!room) throw new Error(`${path} lies in no room of tests/architecture.test.ts.`);
  return room;
}

function mayImport(room: string, target: string): boolean {
  return [room, ...(allowed[room] ?? [])].some((known) => {
    if (known === "*") return true;
    return known.endsWith("/*") ? dirname(target) === known.slice(0, -2) : roomOf(target) === known;
  });
}

test.each(Object.keys(allowed))("%s imports only what it may know", (room) => {
  const own = files.filter(({ path }) => roomOf(path) === room);
  expect(own.length).toBeGreaterThan(0);
  const strangers = own.flatMap(({ path, imports }) =>
    imports.filter((target) => !mayImport(room, target)).map((target) => `${path} -> ${target}`),
  );
  expect(strangers).toEqual([]);
});

test("no file imports itself through others, types included", () => {
  const graph = new Map(files.map(({ path, imports }) => [path, imports]));
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (path: string, way: readonly string[]): void => {
    const start = way.indexOf(path);
    if (start >= 0) circles.push([...way.slice(start), path].join(" -> "));
    if (start >= 0 || done.has(path)) return;
    for (const target of graph.get(path) ?? []) visit(target, [...way, path]);
    done.add(path);
  };
  for (const path of graph.keys()) visit(path, []);
  expect(circles).toEqual([]);
});

/** Each adapter is a room of its own, and so is the page, which runs in the browser. */
test("no name is exported twice in one room, so that go-to-definition leads somewhere", () => {
  const exported = files.flatMap(({ path }) => {
    const text = readFileSync(join(root, path), "utf8");
    const names = text.matchAll(
      /^export (?:async |abstract )?(?:const|let|function\*?|type|interface|class|enum) (\w+)/gm,
    );
    const room = path.startsWith("adapters/console/page/") ? "adapters/console/page" : roomOf(path);
    return [...new Set([...names].map(([, name]) => name))].map((name) => ({ at: `${room}: ${name}`, path }));
  });
  const places = Map.groupBy(exported, ({ at }) => at);
  const twice = [...places].filter(([, paths]) => paths.length > 1).map(([at]) => at);
  expect(twice).toEqual([]);
});

test("every file and folder is named after what it is about", () => {
  const vague = /(?:^|\/)(?:utils?|helpers?|common|shared|misc|base|managers?)(?:\/|\.ts$)/;
  expect(files.map(({ path }) => path).filter((path) => vague.test(path))).toEqual([]);
});
