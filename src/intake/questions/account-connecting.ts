import type { Question } from "../../agent/questions.ts";
import type { ThreadId } from "../../chat/threads.ts";

/** A question for an account, and where it stands. */
export interface AskedAccount {
  thread: ThreadId;
  question: Extract<Question, { kind: "account" }>;
}

/** Connects accounts of people; every step is bound to the question, its person and its server. */
export interface AccountConnecting {
  /** An address for the question's person alone, good for one sign-in; a sentence for that person where there is none. */
  offerLink(asked: AskedAccount): Promise<{ link: string; minutes: number } | { problem: string }>;
  /**
   * Takes the code that the page has shown to whoever signed in. The account is the person's from then on; the same code
   * does the same again until the question is closed.
   */
  confirm(
    asked: AskedAccount,
    code: string,
  ): Promise<{ kind: "connected" } | { kind: "refused"; why: string }>;
}
