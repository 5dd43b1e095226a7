// How a script asks git. Every skill that does has its own copy of this file, because each stands alone.
import { isUtf8 } from "node:buffer";
import { spawnSync } from "node:child_process";
import { fail } from "./command.mts";

/** Questions whose answer may be that there is none. */
const quiet = ["describe", "rev-parse"];
/** What a repository configures itself is not run, and paths come as they are. */
const settings = [
  ...["-c", "core.fsmonitor=false", "-c", "log.showSignature=false"],
  ...["-c", "core.quotePath=false", "--no-pager"],
];
/** Nor is what it lacks fetched, for which it may name a program too. */
const env = { ...process.env, GIT_NO_LAZY_FETCH: "1", GIT_ALLOW_PROTOCOL: "none" };

/** What git prints, run without a shell; undefined when it fails, which it then explains on stderr. */
export function askGit(repository: string, ...args: string[]): string | undefined {
  const { error, status, stdout } = spawnSync("git", ["-C", repository, ...settings, ...args], {
    env,
    maxBuffer: Infinity,
    stdio: ["inherit", "pipe", quiet.includes(args[0] ?? "") ? "ignore" : "inherit"],
  });
  if (error && "code" in error && error.code === "ENOENT") fail("git is not installed");
  if (error) fail(`cannot start git: ${error.message}`);
  return status === 0 ? decode(stdout) : undefined;
}

/** A line or path that is not UTF-8 is read as Latin-1, so that its other characters are right. */
function decode(text: Buffer): string {
  if (isUtf8(text)) return text.toString();
  return text.toString("latin1").replaceAll(/[^\n\0]+/g, (part) => {
    const bytes = Buffer.from(part, "latin1");
    return isUtf8(bytes) ? bytes.toString() : part;
  });
}
