import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

test("whoever supervises ends as its program does: by the same signal, or with the same code", async () => {
  const folder = await mkdtemp(join(tmpdir(), "heddle-supervisor-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = async (name: string, code: string) => {
    await writeFile(join(folder, name), code);
    return join(folder, name);
  };
  const module = join(import.meta.dirname, "../../src/app/supervisor.ts");
  const endOf = async (name: string, program: string) => {
    const options = `{ entry: "${await file(name, program)}", args: [], hangMs: 5_000, warn() {} }`;
    const code = `import { supervise } from "${module}"; process.exitCode = await supervise(${options});`;
    const supervisor = spawn(process.execPath, [await file(`supervise-${name}`, code)], { stdio: "ignore" });
    onTestFinished(() => void supervisor.kill("SIGKILL"));
    return await once(supervisor, "exit");
  };
  const ends = [
    endOf("signal.mjs", 'process.kill(process.pid, "SIGTERM"); setInterval(() => {}, 1_000);'),
    endOf("code.mjs", "process.exitCode = 7;"),
  ];
  expect(await Promise.all(ends)).toEqual([
    [null, "SIGTERM"],
    [7, null],
  ]);
});
