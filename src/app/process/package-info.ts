import { readFileSync } from "node:fs";

interface PackageInfo {
  version: string;
  engines: { node: string };
}

/**
 * What package.json says of this program, in a clone and in an installed package alike. Not parsed by zod: every
 * process needs it, the supervisor too, which starts without.
 */
// Our own file, which comes with the program.
export const packageInfo = JSON.parse(
  readFileSync(new URL("../../../package.json", import.meta.url), "utf8"),
) as PackageInfo;

/** How people call the program: a clone sets up what is missing by npm, an installed package brings a command. */
export const calls = import.meta.url.endsWith(".ts")
  ? { start: "npm start", command: "npm run heddle --" }
  : { start: "npx heddle start", command: "npx heddle" };
