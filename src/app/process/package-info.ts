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

/** Through which other program somebody has called this one, by what npm sets for a script and for npx. */
function findWrapper(): string | undefined {
  if (process.env["npm_lifecycle_event"] === "heddle") return "npm run heddle --";
  const isNpx = /^["']?heddle\b/.test(process.env["npm_lifecycle_script"] ?? "");
  return isNpx ? "npx heddle" : undefined;
}

const named =
  /(?<![\w./-]|npx )heddle (?=(?:start|setup|run|doctor|health|manifest|threads|workspaces|audit|schedules|usage|questions|tokens|people|mcp|config|reload|stop|completion|help)\b|<command>|--)/g;

/** A hint of ours, with each `heddle <command>` as the person who reads it has called this program; one with `npx` stays. */
export function asTyped(hint: string): string {
  const wrapper = findWrapper();
  return wrapper === undefined ? hint : hint.replaceAll(named, `${wrapper} `);
}
