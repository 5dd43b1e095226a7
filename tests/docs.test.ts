import { existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { parse } from "yaml";
import { parseMcpConfig } from "../src/agent/mcp/read-config.ts";
import { parseManifest } from "../src/agent/skills/manifest.ts";
import type { Tool } from "../src/agent/tools/tool.ts";
import { loadConfiguration } from "../src/app/configuration/load.ts";
import { countsWithoutRestart, keepWhatNeedsRestart } from "../src/app/configuration/restart.ts";
import { listOwnTools, validateReferences } from "../src/app/validate-references.ts";
import { createProgram } from "../src/commands/command-line/program.ts";
import { environmentSchema } from "../src/config/environment.ts";
import { settingsSchema } from "../src/config/schema.ts";
import { dispatcherOf, run } from "./agent/tools/services.ts";
import { validateForEditors } from "./config/json-schema.ts";

/** What the pages say can be tried is tried, and what they point to is there. */

const root = resolve(import.meta.dirname, "..");
const pages = globSync(["*.md", "docs/**/*.md"], { cwd: root });
const read = (path: string) => readFileSync(join(root, path), "utf8");

/** The code blocks of a page in that language. */
function blocks(page: string, language: string): string[] {
  const all = read(page).matchAll(/^( *)```(\w+)\n(.*?)^\1```$/gms);
  return [...all].flatMap(([, , found, text = ""]) => (found === language ? [text] : []));
}

/** As GitHub makes the anchor of a heading. */
function anchorsOf(page: string): string[] {
  return [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

test("every link and every path in the pages leads somewhere", () => {
  const broken = pages.flatMap((page) => {
    const text = read(page);
    const links = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, link = ""]) => link);
    const named = text.matchAll(/`((?:src|tests|scripts|deploy|docs|bench|eval|examples)\/[\w./-]*)`/g);
    return [
      ...links.filter((link) => !/^https?:/.test(link) && !leads(page, link)),
      ...[...named].map(([, path = ""]) => path).filter((path) => !existsSync(join(root, path))),
    ].map((link) => `${page}: ${link}`);
  });
  expect(broken).toEqual([]);
});

test("docs/architecture.md names everything that lies in src, and every key of Redis", () => {
  const page = read("docs/architecture.md");
  const [code = ""] = read("src/queue/redis/keys.ts").split("/** Channels of pub/sub");
  const keys = [...code.matchAll(/(?:session\(thread, [`"]|heddle:\{?)([\w-]+)/g)].map(([, key = ""]) => key);
  expect(keys.length).toBeGreaterThan(30);
  const rooms = readdirSync(join(root, "src"));
  expect([
    ...rooms.filter((name) => !page.includes(name)),
    ...keys.filter((key) => !new RegExp(`[:{\`]${key}[:}\`]`).test(page)),
  ]).toEqual([]);
});

test("docs/live-configuration.md names what needs a restart, and everything that does not", async () => {
  const rows = [...read("docs/live-configuration.md").matchAll(/^\| (.+) \| (.+) \|$/gm)];
  const namesOf = (isRestart: boolean) =>
    rows
      .filter(([, , when = ""]) => when.startsWith("after a restart") === isRestart)
      .flatMap(([, what = ""]) => [...what.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name));
  const { properties } = JSON.parse(read("docs/heddle.schema.json")) as {
    properties: { channels: { additionalProperties: { properties: Record<string, unknown> } } };
  };
  const sections = Object.keys(settingsSchema.shape);
  const ofChannels = Object.keys(properties.channels.additionalProperties.properties);

  const started = await loadConfiguration({}, join(root, "docs"));
  const restartFor = (change: Record<string, unknown>) => {
    const settings = { ...started.config.settings, ...change };
    return keepWhatNeedsRestart(started, { ...started, config: { ...started.config, settings } }).restart;
  };
  const waiting = [
    ...sections.flatMap((name) => restartFor({ [name]: { changed: true } })),
    ...ofChannels.flatMap((name) => restartFor({ channels: { "slack:T1:C1": { [name]: ["changed"] } } })),
  ];
  expect(namesOf(true).toSorted()).toEqual(waiting.toSorted());

  const live = [...sections, ...Object.keys(environmentSchema.shape)].filter(countsWithoutRestart);
  expect(live.filter((name) => !namesOf(false).includes(name))).toEqual([]);
  expect(namesOf(false).filter((name) => waiting.includes(name))).toEqual([]);
});

test("every claim of docs/security.md names the tests that hold it", () => {
  const [, claims = ""] = /^## Claims and their tests\n([^]*?)^### /m.exec(read("docs/security.md")) ?? [];
  const rows = [...claims.matchAll(/^\| (.+?) \| (.+) \|$/gm)].slice(2);
  expect(rows.length).toBeGreaterThan(10);
  expect(rows.filter(([, , tests = ""]) => !tests.includes("`tests/")).map(([row]) => row)).toEqual([]);
});

test("docs/rules.md names every tool of Heddle's own", () => {
  const [, table = ""] = /^\| tools \| for \|\n([^]*?)\n\n/m.exec(read("docs/rules.md")) ?? [];
  const named = [...table.matchAll(/^\| (.*?) \|/gm)].flatMap(([, names = ""]) =>
    [...names.matchAll(/`(\w+)`/g)].map(([, name = ""]) => name),
  );
  expect(named.toSorted()).toEqual(listOwnTools().toSorted());
});

function leads(page: string, link: string): boolean {
  const [file = "", anchor] = link.split("#");
  const target = file === "" ? page : join(dirname(page), file);
  return existsSync(join(root, target)) && (anchor === undefined || anchorsOf(target).includes(anchor));
}

test("every command in the pages is one that there is", () => {
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  const known = ["help", ...createProgram(async () => {}).commands.map((command) => command.name())];
  const wrong = pages.flatMap((page) => {
    const shown = [
      ...read(page).matchAll(/`[^`]+`/g),
      ...read(page).matchAll(/^ *```sh\n.*?^ *```$/gms),
    ].join("\n");
    const npm = [...shown.matchAll(/npm run ([\w:]+)/g)].filter(([, name = ""]) => !scripts[name]);
    // `heddle` begins a command, and not a name such as heddle.yaml.
    const heddle = [...shown.matchAll(/(?:^|[`(;] *|worker |npm run heddle -- )heddle(?: --)? ([a-z]+)/gm)];
    const viaNpm = [...shown.matchAll(/npm run heddle -- ([a-z]+)/g)];
    const files = [...shown.matchAll(/(?:node|sh) ((?:scripts|deploy|examples)\/\S+?)(?=[`\s])/g)];
    return [
      ...npm,
      ...[...heddle, ...viaNpm].filter(([, name = ""]) => !known.includes(name)),
      ...files.filter(([, file = ""]) => !existsSync(join(root, file))),
    ].map(([match]) => `${page}: ${match}`);
  });
  expect(wrong).toEqual([]);
});

// That of operations is for Kubernetes.
test.each(pages.filter((page) => page !== "docs/operations.md" && blocks(page, "yaml").length > 0))(
  "the settings that %s shows are valid",
  (page) => {
    for (const yaml of blocks(page, "yaml")) {
      const settings = settingsSchema.parse(parse(yaml));
      validateForEditors(parse(yaml));
      // Skills, repositories and tool chains are those of whoever reads the page.
      const channels = Object.entries(settings.channels).map(([id, { tools }]) => [
        id,
        tools ? { tools } : {},
      ]);
      validateReferences({ ...settings, channels: Object.fromEntries(channels) }, []);
      expect(validateForEditors.errors).toBeNull();
    }
  },
);

test("the skill that docs/extending.md shows is loaded without a complaint", () => {
  const [manifest = ""] = blocks("docs/extending.md", "markdown");
  expect(parseManifest(manifest, "release-notes")).toMatchObject({ ok: true, warnings: [] });
});

test("the mcp.json that docs/extending.md shows has two servers, and the token is kept secret", () => {
  const [json = ""] = blocks("docs/extending.md", "json");
  const { servers, secrets } = parseMcpConfig(json, { TICKETS_TOKEN: "ticket-secret" });
  expect(servers).toMatchObject([
    { state: "enabled", name: "memory" },
    { state: "enabled", name: "tickets" },
  ]);
  expect(secrets.join()).toContain("ticket-secret");
});

test("the servers that docs/recipes.md shows can be used", () => {
  const shown = blocks("docs/recipes.md", "json").map((json) =>
    parseMcpConfig(json, { GITHUB_TOKEN: "t1", DATABASE_URI: "postgres://heddle:t2@db.example/app" }),
  );
  expect(shown.flatMap(({ servers }) => servers)).toMatchObject(
    ["github", "jira", "postgres"].map((name) => ({ name, state: "enabled" })),
  );
});

test("the README or the index of the docs leads to every page", () => {
  const index = read("docs/README.md") + read("README.md").replaceAll("(docs/", "(");
  const all = globSync("docs/*.md", { cwd: root }).map((path) => path.replace("docs/", ""));
  expect(all.filter((page) => page !== "README.md" && !index.includes(`(${page}`))).toEqual([]);
});

test("the tool that docs/extending.md shows works, and tells what it could not find", async () => {
  const [code = ""] = blocks("docs/extending.md", "ts");
  const folder = mkdtempSync(join(tmpdir(), "heddle-docs-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const imports = [
    `import { z } from "${import.meta.resolve("zod")}";`,
    `import { defineTool } from "${join(root, "src/agent/tools/tool.ts")}";`,
  ];
  writeFileSync(join(folder, "ticket.ts"), [...imports, code].join("\n"));
  // Only what the page exports.
  const { ticket } = (await import(join(folder, "ticket.ts"))) as { ticket: Tool };
  vi.stubGlobal("fetch", async (url: string) =>
    url.endsWith("/7") ? new Response("Looms creak: open") : new Response("", { status: 404 }),
  );
  onTestFinished(() => void vi.unstubAllGlobals());
  const dispatcher = dispatcherOf({ tools: [ticket] });
  expect(await run(dispatcher, "ticket", { id: 7 })).toMatchObject({
    status: "ok",
    text: "Looms creak: open",
  });
  expect(await run(dispatcher, "ticket", { id: 8 })).toMatchObject({
    status: "error",
    text: "There is no ticket 8.",
  });
  expect((await run(dispatcher, "ticket", { id: "seven" })).status).toBe("error");
});

test("each hand-over of the tour is a function of that name in that file, in a row of its own", () => {
  const rows = read("docs/architecture.md").matchAll(/^\| (\d+) \| `([^`]+)`[^|]*\| ([^|]+) \|/gm);
  const found = [...rows].map(([, number, file = "", name = ""]) => ({ number: Number(number), file, name }));
  expect(found.map(({ number }) => number)).toEqual(found.map((_, index) => index + 1));
  expect(read("docs/architecture.md")).toContain("Twenty-six hand-overs");
  expect(found).toHaveLength(26);
  const missing = found.filter(({ file, name }) => {
    const word = /`(?:\w+\.)?(\w+)`/.exec(name)?.[1];
    return word !== undefined && !new RegExp(`\\b${word}\\b`).test(read(`src/${file}`));
  });
  expect(missing).toEqual([]);
});

test("every room of the queue stands in the map of the house", () => {
  const house = read("docs/architecture.md");
  const rooms = readdirSync(join(root, "src/queue"));
  expect(rooms.filter((room) => !house.includes(`    ${room}/ `))).toEqual([]);
});
