import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

const context = resolve(import.meta.dirname, "../../src/commands/context.ts");

/** Prints, masked, what the data folder holds after the program has begun so. */
const show = (serves: boolean) => `
  import { readFileSync } from "node:fs";
  const { createCommandContext } = await import(${JSON.stringify(context)});
  const { masker } = await createCommandContext("silent", { serves: ${serves} });
  process.stdout.write(masker.mask("cat: " + readFileSync("data/console.token", "utf8")));
`;

test("The console's token that nobody has set is masked, from the first start on and by every command", async () => {
  const cwd = await mkdtemp(join(tmpdir(), "heddle-token-"));
  onTestFinished(() => rm(cwd, { recursive: true, force: true }));
  // In a pod the console asks for one.
  const env = { PATH: process.env["PATH"] ?? "", KUBERNETES_SERVICE_HOST: "10.0.0.1" };
  for (const serves of [true, false]) {
    const shown = promisify(execFile)(process.execPath, ["--input-type=module", "-e", show(serves)], {
      cwd,
      env,
    });
    expect((await shown).stdout).toBe("cat: [masked]\n");
  }
});
