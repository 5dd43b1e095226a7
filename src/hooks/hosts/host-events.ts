import { cutText } from "../../agent/text/text.ts";
import type { HookEvent } from "../template.ts";
import type { Proof } from "../verify.ts";

/** How a kind of host tells what became of pull requests. */
export interface HostEvents {
  /** How it proves that it is the sender. @param secret some say by their form which proof they are for */
  proof(secret: string): Proof;
  /** Owner and name of the repository that the event is about. */
  repositoryOf(payload: unknown): string | undefined;
  /** What of an event is worth a turn; undefined for all others. */
  read(event: HookEvent): Feedback | undefined;
  /** What it calls a pull request, and what it writes before its number. */
  request: "pull request" | "merge request";
  sign: "#" | "!";
}

/** What an event says of a pull request. */
export interface Feedback {
  /** Of the pull request, where the event tells it; else its branch or commit. */
  number?: number | undefined;
  branch?: string | undefined;
  commit?: string | undefined;
  /** For people, in a few words; what strangers wrote is in `quoted` alone. */
  news: string;
  task: string;
  quoted: string;
  /** Whose word it is, where the event does not tell whether they have a say in the repository. */
  by?: Writer;
  /** Whether what they remarked on lines has to be asked for. */
  lacksRemarks?: true;
  /** Names what counts once, where several events tell of it. */
  once?: string;
}

/** Somebody as the host knows them. */
export interface Writer {
  id?: number;
  login: string;
}

export const answerTask =
  "Look into what is remarked. Where it is right, correct it and push with open_pull_request again; where it is not, say here why.";

/** What failed checks are told with. @param what for people, e.g. `failure` */
export function describeFailedChecks(
  sha: string,
  what: string,
  names: readonly string[],
): Pick<Feedback, "news" | "task" | "quoted"> {
  const commit = sha.slice(0, 12);
  return {
    news: `the checks of ${commit} have failed (${what}).`,
    task: `The checks of commit ${commit} have failed. If a newer commit was pushed since, say so and stop. Else find out here why, by running what the repository's CI runs; correct it, and push with open_pull_request again.`,
    quoted: names.length === 0 ? "" : `Checks by: ${names.map((name) => cutText(name, 100)).join(", ")}`,
  };
}
