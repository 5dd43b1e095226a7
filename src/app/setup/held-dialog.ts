import { createMasker } from "../../agent/secrets/mask-secrets.ts";
import type { SetupQuestion } from "../../adapters/console/setup-at-console.ts";
import { type Dialog, SetupCancelled } from "../../setup/dialog.ts";
import { readPasted } from "../../setup/pasted.ts";

/** What a dialog holds for whoever looks at it. */
export interface DialogState {
  said: string[];
  copied?: string;
  question?: SetupQuestion;
}

/** A dialog with somebody who is elsewhere: it holds each question until {@link HeldDialog.answer} is called. */
export interface HeldDialog extends Dialog {
  state(): DialogState;
  /** Aborted, with a {@link SetupCancelled}, by `cancel` and when a question has waited for too long. */
  cancelled: AbortSignal;
  /** Whether the last question was left. */
  isSilent(): boolean;
  /** Why the answer does not count, as a sentence; undefined when it does. */
  answer(question: number, value: string | boolean): string | undefined;
  cancel(): void;
}

const mostLines = 500;

/**
 * @param options.silenceMs how long a question waits for its answer
 * @param options.mask takes out of what is said what this process knows as secret; what is pasted is taken out anyway
 */
export function createHeldDialog({
  silenceMs,
  mask,
  onChange,
}: {
  silenceMs: number;
  mask(text: string): string;
  onChange(): void;
}): HeldDialog {
  const said: string[] = [];
  const pasted = createMasker([]);
  const cancelled = new AbortController();
  let copied: string | undefined;
  let asked = 0;
  let isSilent = false;
  let waiting: Waiting | undefined;

  const say = (text: string) => {
    // A masked text keeps what people know a secret by.
    said.push(...pasted.mask(mask(text)).split("\n"));
    said.splice(0, said.length - mostLines);
    onChange();
  };
  const cancel = () => cancelled.abort(new SetupCancelled("The set-up was ended."));

  async function hold(
    question: Unnumbered,
    read: (value: string | boolean) => string | boolean | undefined,
  ): Promise<string | boolean> {
    cancelled.signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<string | boolean>();
    const timer = setTimeout(() => {
      isSilent = true;
      cancel();
    }, silenceMs);
    const onAbort = () => reject(cancelled.signal.reason);
    cancelled.signal.addEventListener("abort", onAbort, { once: true });
    asked += 1;
    waiting = { question: { ...question, number: asked }, resolve, read };
    onChange();
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      cancelled.signal.removeEventListener("abort", onAbort);
      waiting = undefined;
      onChange();
    }
  }

  return {
    say,
    cancel,
    cancelled: cancelled.signal,
    isSilent: () => isSilent,
    state: () => ({
      said: [...said],
      ...(copied !== undefined && { copied }),
      ...(waiting && { question: waiting.question }),
    }),
    answer(number, value) {
      if (waiting?.question.number !== number) return "This question does not wait for an answer any more.";
      const taken = waiting.read(value);
      if (taken === undefined) return "This is no answer to the question.";
      waiting.resolve(taken);
      // Not after the promise's next step: the same answer may come again at once.
      waiting = undefined;
      return undefined;
    },
    async ask(_id, text, { secret = false, standard = "" } = {}) {
      const kind = secret ? { kind: "secret" as const } : { kind: "text" as const, standard };
      const value = String(await hold({ text, ...kind }, (given) => textIn(given))).trim();
      if (!secret) {
        say(`  ${text}: ${value || standard}`);
        return value || standard;
      }
      for (const form of [value, readPasted(value).value]) if (form) pasted.add(form);
      say(`  ${text}: ${value ? "entered" : "left out"}`);
      return value;
    },
    async choose(_id, text, choices, { standard }) {
      const known = choices.map(({ value, label }) => ({ value, label }));
      const question = { text, kind: "choice" as const, choices: known, standard };
      const value = await hold(question, (given) => known.find((one) => one.value === given)?.value);
      say(`  ${text} ${known.find((one) => one.value === value)?.label ?? ""}`);
      return String(value);
    },
    async confirm(_id, text) {
      const value = await hold({ text, kind: "confirm" }, (given) =>
        typeof given === "boolean" ? given : undefined,
      );
      say(`  ${text} ${value === true ? "Yes" : "No"}`);
      return value === true;
    },
    copy(text) {
      copied = text;
      onChange();
    },
  };
}

interface Waiting {
  question: SetupQuestion;
  /** What the value stands for; undefined when it is no answer. */
  read(value: string | boolean): string | boolean | undefined;
  resolve(value: string | boolean): void;
}

/** A question without its number: `Omit` would lose the cases. */
type Unnumbered = SetupQuestion extends infer Each
  ? Each extends SetupQuestion
    ? Omit<Each, "number">
    : never
  : never;

function textIn(value: string | boolean): string | undefined {
  return typeof value === "string" ? value : undefined;
}
