import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import type { TestRedis } from "../fakes/redis.ts";
import { commandLine, environmentOf, processesWith } from "./processes.ts";

/** Where credentials must not be, looked at as somebody would who searches for them. */

/** What the sandbox of a running command was started with, and the folder with the files of its thread. */
export function inspectSandbox(command: string): { folder: string; said: string } {
  const pids = processesWith(command, process.pid);
  const said = pids.map((pid) => `${commandLine(pid)} ${environmentOf(pid)}`).join("\n");
  const [, folder = ""] = /--bind (\S+)\/ws /.exec(said) ?? [];
  return { folder, said };
}

/**
 * @param places texts by the name of their place, each of them with something in it
 * @param of.sandbox of a command that ran while the credentials were in use, where one could be looked at
 */
export async function expectNowhere(
  credentials: readonly string[],
  places: Readonly<Record<string, string>>,
  {
    redis,
    folder,
    sandbox,
  }: { redis: TestRedis; folder: string; sandbox?: ReturnType<typeof inspectSandbox> },
): Promise<void> {
  const client = redis.client();
  await client.config("SET", "rdbcompression", "no");
  const dumps = (await client.keys("*")).map((key) => client.dumpBuffer(key));
  const stored = Buffer.concat((await Promise.all(dumps)).flatMap((each) => each ?? [])).toString("latin1");
  const mirrors = sandbox && join(dirname(dirname(sandbox.folder)), "mirrors");
  const folders = [
    folder,
    ...(sandbox ? [sandbox.folder] : []),
    ...(mirrors !== undefined && existsSync(mirrors) ? [mirrors] : []),
  ];
  const all = { ...places, stored, ...(sandbox && { sandbox: sandbox.said }) };
  // Also as git signs in with one.
  const signIns = credentials.flatMap((each) =>
    ["x-access-token", "oauth2"].map((user) => Buffer.from(`${user}:${each}`).toString("base64")),
  );
  for (const credential of [...credentials, ...signIns]) {
    for (const [where, text] of Object.entries(all)) {
      expect(text.length, where).toBeGreaterThan(100);
      expect(text.includes(credential), where).toBe(false);
    }
    const files = ["-rlF", "--", credential, ...folders];
    const found = execFileSync("sh", ["-c", 'grep "$@" || [ $? = 1 ]', "sh", ...files]).toString();
    expect(found).toBe("");
  }
}
