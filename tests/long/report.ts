/** Runs the long conversations and writes their figures into docs/long-conversations.md. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { publishFigures } from "../../scripts/publish-figures.ts";
import { converse, type Findings } from "./converse.ts";

const rounds = 300;

const rows: string[] = [];
const isSound = ({ lostWords, repeatedRefusals, failedTurns, summariesInEightSteps }: Findings) =>
  lostWords + repeatedRefusals + failedTurns === 0 && summariesInEightSteps <= 1;
for (const protocol of ["anthropic", "openai-chat"] as const) {
  for (const window of [16_000, 32_000, 200_000, 1_000_000]) {
    const found = await converse({ protocol, window, rounds });
    console.log(protocol, window, JSON.stringify(found));
    if (!isSound(found)) process.exitCode = 1;
    const figures = [
      found.requests,
      found.refusals,
      found.summaries,
      found.summariesInEightSteps,
      found.lostWords,
      found.repeatedRefusals,
      found.failedTurns,
    ];
    rows.push(`| ${protocol}, ${window.toLocaleString("en-US")} | ${figures.join(" | ")} |`);
  }
}

const { version } = JSON.parse(readFileSync(join(import.meta.dirname, "../../package.json"), "utf8")) as {
  version: string;
};
const table = [
  `${new Date().toISOString().slice(0, 10)}, Heddle ${version}, Node ${process.versions.node}, ${process.platform} ${process.arch}.`,
  "",
  "| protocol, window | requests | refused | summaries | most in eight steps | words lost | refused ones sent again | failed turns |",
  "| --- | --: | --: | --: | --: | --: | --: | --: |",
  ...rows,
];
publishFigures("long-conversations.md", "long conversations", table.join("\n"));
