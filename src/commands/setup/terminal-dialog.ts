import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { asTyped } from "../../app/process/package-info.ts";
import { type Dialog, SetupCancelled } from "../../setup/dialog.ts";

interface Terminal {
  input: NodeJS.ReadableStream;
  output: NodeJS.WritableStream;
}

/**
 * Asks at a terminal, in plain lines: they can be read in a log, by a screen reader and on a terminal that knows no
 * movements. Nothing that is typed is shown unless a question that is no secret waits for it.
 */
export function createTerminalDialog({ input, output }: Terminal): Dialog & {
  /** Aborted by Ctrl-C and by the end of the input. */
  cancelled: AbortSignal;
  close(): void;
} {
  let isShown = false;
  const shown = new Writable({
    write(chunk, _encoding, done) {
      if (isShown) output.write(chunk);
      done();
    },
  });
  // Without a history the arrow keys would bring back a secret.
  const lines = createInterface({ input, output: shown, terminal: true, historySize: 0 });
  const typed: string[] = [];
  let waiting: { resolve(line: string): void; reject(error: Error): void } | undefined;
  const cancelled = new AbortController();
  const cancel = () => {
    const error = new SetupCancelled("The set-up was ended.");
    cancelled.abort(error);
    waiting?.reject(error);
    waiting = undefined;
  };
  lines.on("SIGINT", cancel).on("close", cancel);
  lines.on("line", (line) => {
    if (waiting) waiting.resolve(line);
    else typed.push(line);
    waiting = undefined;
  });

  const say = (text: string) => void output.write(`${asTyped(text)}\n`);
  async function readLine(prompt: string, secret = false): Promise<string> {
    cancelled.signal.throwIfAborted();
    const early = typed.shift();
    if (early !== undefined) {
      output.write(`${prompt}${secret ? "" : early}\n`);
      return early;
    }
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    waiting = { resolve, reject };
    isShown = !secret;
    if (secret) output.write(prompt);
    else {
      lines.setPrompt(prompt);
      lines.prompt(true);
    }
    try {
      return await promise;
    } finally {
      isShown = false;
      if (secret) output.write("\n");
    }
  }

  return {
    say,
    cancelled: cancelled.signal,
    close: () => lines.close(),
    async ask(_id, text, { secret = false, standard = "" } = {}) {
      const said = (await readLine(`  ${text}${standard ? ` [${standard}]` : ""}: `, secret)).trim();
      return said || standard;
    },
    async choose(_id, text, choices, { standard }) {
      say(`  ${text}`);
      for (const [index, { label }] of choices.entries()) say(`    ${index + 1}  ${label}`);
      const usual = choices.findIndex(({ value }) => value === standard) + 1;
      for (;;) {
        const said = (await readLine(`  Number [${usual}]: `)).trim();
        const found =
          choices[(said === "" ? usual : Number(said)) - 1] ?? choices.find(({ value }) => value === said);
        if (found) return found.value;
        say(`  Expected a number from 1 to ${choices.length}.`);
      }
    },
    async confirm(_id, text) {
      typed.length = 0;
      return /^y(es)?$/i.test((await readLine(`  ${text} [y/N]: `)).trim());
    },
    // OSC 52; terminals that do not know it ignore it.
    copy: (text) => void output.write(`\u001b]52;c;${Buffer.from(text).toString("base64")}\u0007`),
  };
}
