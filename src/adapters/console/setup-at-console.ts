import type { Speaker } from "../../agent/messages.ts";
import type { HeardMessage } from "../../operations/installation/heard.ts";

/** What the set-up connects when it is gone through at the console. */
export const consoleSetupSteps = ["model", "slack", "discord"] as const;
export type ConsoleSetupStep = (typeof consoleSetupSteps)[number];

/** What a step asks. `number` counts the questions of a run: an answer names the question that it is for. */
export type SetupQuestion = { number: number; text: string } & (
  | { kind: "choice"; choices: { value: string; label: string }[]; standard: string }
  /** An empty answer stands for `standard`. */
  | { kind: "text"; standard: string }
  /** The answer is never told again, to anybody. An empty one leaves the question. */
  | { kind: "secret" }
  | { kind: "confirm" }
);

/** Somebody's way through some steps, as far as it has come. There is nothing secret in it. */
export interface SetupRun {
  id: string;
  steps: ConsoleSetupStep[];
  /** Who has begun it, and alone answers. */
  by: { id: string; name: string };
  /** Lines, as a terminal would show them; the last 500. */
  said: string[];
  /** The last text that somebody may want in the clipboard. */
  copied?: string;
  /** What waits for an answer; absent while something is tried, and in the end. */
  question?: SetupQuestion;
  /** `cancelled`: by a person. `silent`: nobody answered in time. What was saved stays in any case. */
  ended?: "done" | "failed" | "cancelled" | "silent";
}

/**
 * Whether people are heard on a platform that is configured. `unreached`: there is no connection yet. `listening`: since
 * less than a minute. `silent`: nothing has come since the process was started.
 *
 * @example
 * { platform: "slack", state: "heard", message: { at: 1_732_100_000_100, by: "Ada", where: "#general" } }
 */
export type PlatformHearing = { platform: string } & (
  | {
      state: "unreached" | "listening" | "silent";
      /** Why nothing may arrive, and what to do. */
      reasons: string[];
    }
  | { state: "heard"; message: HeardMessage }
);

/**
 * The set-up, which one person at a time goes through at the console. Its steps are those of `heddle setup`; a run waits
 * in this process for its answers, ends by itself when none comes, and is gone after a restart.
 */
export interface ConsoleSetup {
  /** Why the set-up cannot be had here, as a sentence; undefined where it can. */
  problem(): string | undefined;
  /** The run that is under way, else the last one. */
  current(): SetupRun | undefined;
  /** Of the platforms of this process, whether or not anybody goes through the set-up. */
  hearing(): PlatformHearing[];
  /** Undefined while another run is under way. */
  begin(steps: readonly ConsoleSetupStep[], by: Speaker): SetupRun | undefined;
  /** Why the answer does not count, as a sentence; undefined when it does. */
  answer(answer: SetupAnswer, by: Speaker): string | undefined;
  /** False when there is no such run under way. Whoever may begin one may end it. */
  end(run: string): boolean;
  /** Calls back when {@link current} or {@link hearing} has changed; returns how to end it. */
  follow(onChange: () => void): () => void;
}

/** `value`: a text, the value of a choice, or whether something is confirmed. */
export interface SetupAnswer {
  run: string;
  question: number;
  value: string | boolean;
}
