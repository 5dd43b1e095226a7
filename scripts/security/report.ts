/** Writes into docs/security.md how many attacks the last run of `npm run test:security` has tried, and how many held. */
import { readFileSync } from "node:fs";
import { release } from "node:os";
import { relative } from "node:path";
import { z } from "zod";
import { publishFigures } from "../publish-figures.ts";
import { type Claim, readClaims, root } from "./claims.ts";

const resultsSchema = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      assertionResults: z.array(
        z.object({
          status: z.string(),
          // See tests/attacks.ts.
          meta: z.looseObject({ attacks: z.int().optional() }).optional(),
        }),
      ),
    }),
  ),
});

const file = process.env["HEDDLE_SECURITY_RESULTS"];
if (!file) throw new Error("HEDDLE_SECURITY_RESULTS names no file: run this through npm run test:security.");
const { testResults } = resultsSchema.parse(JSON.parse(readFileSync(file, "utf8")));
const byFile = new Map(
  testResults.map(({ name, assertionResults }) => [
    relative(root, name),
    assertionResults.map(({ status, meta }) => ({ held: status === "passed", attacks: meta?.attacks ?? 1 })),
  ]),
);

function countOf({ files }: Claim): { tried: number; held: number } {
  const tests = files.flatMap((name) => byFile.get(name) ?? []);
  const sum = (list: typeof tests) => list.reduce((total, { attacks }) => total + attacks, 0);
  return { tried: sum(tests), held: sum(tests.filter(({ held }) => held)) };
}

const claims = readClaims();
const all = countOf({ text: "", files: [...new Set(claims.flatMap(({ files }) => files))] });
const rows = claims.map((claim) => {
  const { tried, held } = countOf(claim);
  return `| ${claim.text} | ${tried} | ${held} |`;
});
const versions = `${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node}, Linux ${release()}`;
const user = process.getuid?.() === 0 ? "as root" : "as an ordinary user";
const report = [
  `${versions}, ${user}: ${all.tried} tried, ${all.held} held.`,
  ["| claim | tried | held |", "| --- | --- | --- |", ...rows].join("\n"),
].join("\n\n");

publishFigures("security.md", "attacks", report);
