import { readFileSync } from "node:fs";
import { join } from "node:path";
import { quoteArgument } from "../quote.ts";
import type { SandboxToolContext } from "../tool.ts";

/** The first bytes of a zip archive, which all of Word's, Excel's and PowerPoint's files are since 2007. */
export const zipStart = "PK\u0003\u0004";

let script: string | undefined;

/**
 * The text of a file of Word, Excel or PowerPoint, taken out in the sandbox: such a file is hostile input, and nothing
 * outside may unpack it. Undefined for a zip archive of another kind; otherwise one line that tells what to do.
 */
export async function readOfficeText(
  path: string,
  { sandbox, signal }: Pick<SandboxToolContext, "sandbox" | "signal">,
): Promise<{ ok: true; text: string } | { ok: false; message: string } | undefined> {
  script ??= readFileSync(join(import.meta.dirname, "extract.mts"), "utf8");
  const command = `exec node --input-type=module-typescript --max-old-space-size=512 --no-warnings -e ${quoteArgument(script)} -- ${quoteArgument(path)}`;
  const bounds = { timeoutMs: 30_000, maxOutputBytes: 17 * 1024 * 1024 };
  const { end, exitCode, stdout, stderr } = await sandbox.exec({ command, ...bounds, signal });
  const createFailure = (message: string) => ({ ok: false, message: `${path} ${message}` }) as const;
  if (end !== "exit") return createFailure(`could not be read: that was ended (${end}).`);
  switch (exitCode) {
    case 0:
      return stdout.length === 0
        ? createFailure("has no text.")
        : { ok: true, text: stdout.toString().trimEnd() };
    case 3:
      return undefined;
    case 4:
      return createFailure(`could not be read: ${stderr.toString()}.`);
    default:
      return createFailure("could not be read; use bash to look into it.");
  }
}
