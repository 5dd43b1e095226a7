import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";

export const skillsFolder = new URL("../../skills/", import.meta.url).pathname;

export interface Run {
  code: number;
  stdout: string;
  stderr: string;
}

/** A fresh folder with these files, removed when the test ends. */
export function workspace(files: Record<string, string | Uint8Array> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), "heddle-skill-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFiles(folder, files);
  return folder;
}

/** Runs a skill's script as the sandbox would: by this Node, in the workspace, with no environment but a plain path. */
export function runScript(script: string, args: string[], cwd: string, stdin = ""): Promise<Run> {
  return runCommand(process.execPath, [join(skillsFolder, script), ...args], cwd, stdin);
}

export function runCommand(
  command: string,
  args: string[],
  cwd: string,
  stdin = "",
  more: Record<string, string> = {},
): Promise<Run> {
  const env = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: cwd, LANG: "C.UTF-8", ...more };
  return new Promise((resolve) => {
    const child = execFile(command, args, { cwd, env, timeout: 20_000 }, (error, stdout, stderr) => {
      const code = typeof error?.code === "number" ? error.code : error ? -1 : 0;
      resolve({ code, stdout, stderr });
    });
    // A script that refuses its call does not read its input.
    child.stdin?.on("error", () => {});
    child.stdin?.end(stdin);
  });
}

export interface TestCommit {
  subject: string;
  body?: string;
  files?: Record<string, string>;
  tag?: string;
  author?: string;
}

/** A repository with these commits, one a day from the first of November 2026 on. */
export async function repositoryWith(commits: readonly TestCommit[]): Promise<string> {
  const folder = workspace();
  await git(folder, ["init", "-q", "-b", "main"]);
  for (const [index, { subject, body, files, tag, author = "Ann" }] of commits.entries()) {
    writeFiles(folder, files ?? { "history.txt": `${index}\n` });
    await git(folder, ["add", "-A"]);
    const messages = body === undefined ? ["-m", subject] : ["-m", subject, "-m", body];
    const date = `2026-11-${String(index + 1).padStart(2, "0")}T12:00:00Z`;
    await git(folder, ["commit", "-q", ...messages], { author, date });
    if (tag !== undefined) await git(folder, ["tag", tag]);
  }
  return folder;
}

async function git(
  folder: string,
  args: string[],
  by = { author: "Ann", date: "2026-11-01T12:00:00Z" },
): Promise<void> {
  const { code, stderr } = await runCommand("git", args, folder, "", {
    GIT_AUTHOR_NAME: by.author,
    GIT_AUTHOR_EMAIL: "someone@example.com",
    GIT_AUTHOR_DATE: by.date,
    GIT_COMMITTER_NAME: by.author,
    GIT_COMMITTER_EMAIL: "someone@example.com",
    GIT_COMMITTER_DATE: by.date,
  });
  if (code !== 0) throw new Error(`git ${args.join(" ")}: ${stderr}`);
}

function writeFiles(folder: string, files: Record<string, string | Uint8Array>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
}
