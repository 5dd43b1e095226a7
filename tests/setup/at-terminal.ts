import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { onTestFinished } from "vitest";
import { createTerminalDialog } from "../../src/commands/setup/terminal-dialog.ts";
import { createSetupContext, type SetupContext, type StepResult } from "../../src/setup/context.ts";

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "heddle-setup-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Somebody who reads what a terminal shows, and types. */
export interface Reader {
  /** Waits until that is shown, after whatever was waited for before. */
  sees(text: string): Promise<void>;
  types(line: string): void;
  transcript(): string;
}

export function readerOf(stream: NodeJS.ReadableStream, write: (text: string) => void): Reader {
  let transcript = "";
  let read = 0;
  stream.on("data", (chunk) => (transcript += String(chunk)));
  return {
    transcript: () => transcript,
    types: (line) => write(`${line}\r`),
    async sees(text) {
      // On a machine under load, the program alone takes many seconds until it says its first word.
      const deadline = AbortSignal.timeout(60_000);
      for (;;) {
        const at = transcript.indexOf(text, read);
        if (at >= 0) {
          read = at + text.length;
          return;
        }
        await once(stream, "data", { signal: deadline }).catch(() => {
          throw new Error(`“${text}” is not shown:\n${transcript.slice(read)}`);
        });
      }
    },
  };
}

interface Sitting extends Reader {
  result: Promise<StepResult>;
}

/** Lets somebody go through one step at a terminal. */
export function sitDown(
  step: (context: SetupContext) => Promise<StepResult>,
  {
    cwd,
    env = {},
    ...limits
  }: { cwd: string; env?: Record<string, string>; patienceMs?: number; listenMs?: number },
): Sitting {
  const input = new PassThrough();
  const output = new PassThrough();
  const dialog = createTerminalDialog({ input, output });
  const reader = readerOf(output, (text) => input.write(text));
  const context = createSetupContext({ dialog, signal: dialog.cancelled, env, cwd, ...limits });
  const result = step(context).finally(() => dialog.close());
  // Some tests look at it only later.
  result.catch(() => undefined);
  return { ...reader, result };
}
