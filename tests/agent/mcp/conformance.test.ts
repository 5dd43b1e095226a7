import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";

/**
 * The protocol's public suite for clients (https://github.com/modelcontextprotocol/conformance), whole, against Heddle's
 * own code: see conformance/client.ts. Its score is docs/mcp-conformance.md, which this run must agree with.
 * `HEDDLE_DRAW=1 npm test -- tests/agent/mcp/conformance.test.ts` writes it anew.
 */

const page = join(import.meta.dirname, "../../../docs/mcp-conformance.md");
const client = join(import.meta.dirname, "conformance/client.ts");
const manifest = createRequire(import.meta.url).resolve("@modelcontextprotocol/conformance/package.json");
const suite = join(dirname(manifest), "dist/index.js");

const grants =
  "an extension: Heddle signs in by codes of a person's browser, not by a service's own credentials or keys";

/** Why a scenario is not passed. Whoever passes one takes it out. */
const reasons: Record<string, string> = {
  "elicitation-sep1034-client-defaults":
    "the first answer is `cancel`: nobody waits in a call, and the answer counts when it is made again ([0055](decisions/0055-servers-are-answered-in-the-next-call.md)); the defaults are all there",
  "json-schema-2020-12-preservation":
    "models are given schemas in a form that all model services take, in which references are resolved and `$schema`, `$defs` and `additionalProperties` left out; the server still validates by its own",
  "auth/client-credentials-jwt": grants,
  "auth/client-credentials-basic": grants,
  "auth/enterprise-managed-authorization": grants,
  "auth/wif-jwt-bearer": grants,
  "auth/dpop": "an extension: tokens are not bound to a key",
  "auth/dpop-nonce": "an extension: tokens are not bound to a key",
};

interface Scenario {
  name: string;
  /** Versions of the protocol, or `extension`. */
  versions: string;
}

interface Result extends Scenario {
  passed: number;
  all: number;
}

const run = promisify(execFile);
const checksSchema = z.array(z.object({ id: z.string(), status: z.string() }));
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "heddle-conformance-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function listScenarios(): Promise<Scenario[]> {
  const { stdout } = await run(process.execPath, [suite, "list", "--client"]);
  return [...stdout.matchAll(/^ {2}- (\S+) \[([^\]]+)\]$/gm)].map(([, name = "", versions = ""]) => ({
    name,
    versions: versions.replaceAll(",", ", "),
  }));
}

async function tryScenario({ name, versions }: Scenario, index: number): Promise<Result> {
  const output = join(folder, String(index));
  const command = `${process.execPath} ${client}`;
  const options = ["--scenario", name, "--timeout", "60000", "-o", output];
  // It exits with 1 where a check fails, and the checks say so.
  await run(process.execPath, [suite, "client", "--command", command, ...options]).catch(() => undefined);
  const files = await readdir(output, { recursive: true });
  const [file] = files.filter((path) => path.endsWith("checks.json"));
  if (file === undefined) throw new Error(`The suite has left no checks of ${name}.`);
  const checks = checksSchema.parse(JSON.parse(await readFile(join(output, file), "utf8")));
  // One is made for each request, of which there may be more or fewer: each counts once, and only if it always holds.
  const idsOf = (...statuses: string[]) =>
    new Set(checks.filter(({ status }) => statuses.includes(status)).map(({ id }) => id));
  const [held, broken] = [idsOf("SUCCESS"), idsOf("FAILURE", "WARNING")];
  return { name, versions, passed: held.difference(broken).size, all: held.union(broken).size };
}

/** So many at once: each has a server and a client of its own, which mostly wait for each other. */
async function tryAll(scenarios: readonly Scenario[], atOnce = 3): Promise<Result[]> {
  const results: Result[] = [];
  const left = [...scenarios.entries()];
  const work = async () => {
    for (let each = left.shift(); each; each = left.shift())
      results[each[0]] = await tryScenario(each[1], each[0]);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return results;
}

function draw(results: readonly Result[], version: string): string {
  const isWhole = ({ passed, all }: Result) => passed === all;
  const tried = results.filter(({ all }) => all > 0);
  const required = tried.filter(({ versions }) => versions !== "extension");
  const score = (some: readonly Result[]) => `${some.filter(isWhole).length} of ${some.length}`;
  const rows = results.map((result) => {
    const { name, versions, passed, all } = result;
    const outcome = all === 0 ? "nothing to check" : `${passed} of ${all}`;
    const verdict = all === 0 ? "" : isWhole(result) ? "✓" : `✗ ${reasons[name] ?? ""}`;
    return `| ${name} | ${versions} | ${outcome} | ${verdict} |`;
  });
  return [
    "# Conformance to the Model Context Protocol",
    "",
    `Written by the test run (\`tests/agent/mcp/conformance.test.ts\`); do not edit. Heddle as a client in the protocol's public suite, \`@modelcontextprotocol/conformance\` ${version}: its pool, sign-in and elicitation as turns use them.`,
    "",
    `It passes ${score(required)} scenarios of the protocol's versions, and ${score(tried)} with those of extensions. A scenario counts only where all its checks hold, those of recommendations (SHOULD) included; one in which the suite had nothing to check counts for neither.`,
    "",
    "| scenario | versions | checks passed |  |",
    "| --- | --- | --: | --- |",
    ...rows,
    "",
  ].join("\n");
}

test("docs/mcp-conformance.md is what the public suite says of Heddle as a client", {
  timeout: 300_000,
}, async () => {
  const results = await tryAll(await listScenarios());
  expect(results.length).toBeGreaterThan(40);
  const failed = results.filter(({ passed, all }) => passed < all).map(({ name }) => name);
  expect(failed.toSorted(), "each that is not passed has its reason").toEqual(
    Object.keys(reasons).toSorted(),
  );
  const { version } = z.object({ version: z.string() }).parse(JSON.parse(await readFile(manifest, "utf8")));
  const drawn = draw(results, version);
  if (process.env["HEDDLE_DRAW"]) await writeFile(page, drawn);
  expect(await readFile(page, "utf8")).toBe(drawn);
});
