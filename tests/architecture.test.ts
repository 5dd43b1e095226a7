import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../src");

const files = readdirSync(root, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts"))
  .map((path) => ({ path, imports: importsOf(path) }));

/** Paths relative to src/ that a file imports. */
function importsOf(path: string): string[] {
  const text = readFileSync(join(root, path), "utf8");
  const specifiers = [...text.matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g)].map((match) => match[1] ?? "");
  return specifiers.map((specifier) => relative(root, resolve(root, dirname(path), specifier)));
}

/** Imports of files in `room` that the predicate does not allow. */
function strangers(room: RegExp, allowed: RegExp): string[] {
  return files
    .filter(({ path }) => room.test(path))
    .flatMap(({ path, imports }) =>
      imports.filter((target) => !allowed.test(target)).map((target) => `${path} -> ${target}`),
    );
}

const agentTypes =
  "agent/(events|follow|journal|history|messages|questions|llm/model|purse|tools/(notes|schedules))\\.ts";
const contracts = "adapters/adapter\\.ts|sandbox/sandbox\\.ts";

test.each([
  ["the agent knows no chat platform, no Redis and no queue", /^agent\//, /^agent\/|^sandbox\/sandbox\.ts$/],
  ["the sandbox knows only itself", /^sandbox\/(?!open)/, /^sandbox\//],
  [
    "the Slack adapter knows no other adapter",
    /^adapters\/slack\//,
    /^adapters\/(slack\/|(adapter|attend|network|thread-word)\.ts)|^progress\/(markdown|title)\.ts|^agent\/(messages|network-code)\.ts$/,
  ],
  [
    "the Discord adapter knows no other adapter",
    /^adapters\/discord\//,
    /^adapters\/(discord\/|(adapter|attend|network|thread-word)\.ts)|^progress\/(markdown|title)\.ts|^agent\/network-code\.ts$/,
  ],
  [
    "the console knows no other adapter",
    /^adapters\/local\//,
    /^adapters\/(local\/|(adapter|thread-word)\.ts)|^progress\/(markdown|title)\.ts|^sandbox\/sandbox\.ts$|^agent\/messages\.ts$/,
  ],
  [
    "what the console shows an operator knows the queue and contracts, and no adapter",
    /^console\//,
    new RegExp(
      `^(console/|queue/|${contracts}|${agentTypes}|adapters/local/(operations|services)\\.ts|` +
        "progress/title\\.ts|sandbox/(limits|watched)\\.ts|agent/(mcp/pool|skills/library)\\.ts|telemetry/audit/(chain|files)\\.ts)",
    ),
  ],
  [
    "intake knows the contracts, the queue and what a message is",
    /^intake\//,
    new RegExp(`^(intake/|queue/|agent/(messages|questions|tools/schedules)\\.ts|${contracts})`),
  ],
  [
    "what came with messages knows the contracts and the agent's types",
    /^enclosures\//,
    new RegExp(`^(enclosures/|agent/images\\.ts|${contracts}|${agentTypes})`),
  ],
  [
    "the queue knows the agent's types, not its inside",
    /^queue\//,
    new RegExp(`^(queue/|${contracts}|${agentTypes})`),
  ],
  [
    "progress knows the agent's types, not its inside",
    /^progress\//,
    new RegExp(`^(progress/|queue/|${contracts}|${agentTypes})`),
  ],
])("%s", (_rule, room, allowed) => {
  expect(files.some(({ path }) => room.test(path))).toBe(true);
  expect(strangers(room, allowed)).toEqual([]);
});

test("only the composition root and the commands know everything", () => {
  const everything = /^(foundation|gateway|worker|platforms|turn-runner|main)\.ts$|^commands\//;
  const offenders = files.filter(
    ({ path, imports }) => !everything.test(path) && imports.some((target) => everything.test(target)),
  );
  expect(offenders.map(({ path }) => path)).toEqual([]);
});
