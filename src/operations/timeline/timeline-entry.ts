import type { Question } from "../../agent/questions.ts";
import type { Ending, Excerpt } from "../finding.ts";
import type { Figures } from "../reports.ts";

interface TimelineCall {
  id: string;
  name: string;
  arguments: Excerpt;
}

interface InnerCall {
  name: string;
  arguments: Excerpt;
  status: string;
  /** Of a command that has failed. */
  exit?: string;
  text: Excerpt;
  tookMs: number;
}

/** One record of a thread's journal. `position` orders and names it; times are ms since the epoch. */
export type TimelineEntry = { position: number; at?: number } & (
  | { kind: "turn-start"; turn: string }
  | { kind: "message"; id: string; author: string; text: Excerpt; images: number }
  | { kind: "enclosure"; text: Excerpt; images: number }
  /** `asks`: what kind of question; a server's (`input`) and that for an account are no Markdown. */
  | { kind: "question"; id: string; asks: Question["kind"]; tool: string; text: Excerpt }
  /** `decision` in one word, `by` whoever decided. */
  | { kind: "decision"; question: string; decision: string; by: string; text: Excerpt }
  | { kind: "withdrawn"; id: string }
  /** `text`: why it cannot be read. */
  | { kind: "unreadable"; text: Excerpt }
  | { kind: "nudge"; text: Excerpt }
  | {
      kind: "model";
      step: number;
      model: string;
      text: Excerpt;
      thinking: Excerpt;
      /** Retries and changes of model, one a line. */
      troubles: Excerpt;
      calls: TimelineCall[];
      stop: string;
      figures: Figures;
      /** From the record before, retries included; absent where that has no time. */
      tookMs?: number;
    }
  | { kind: "tool-start"; call: string }
  | {
      kind: "tool-result";
      call: string;
      name: string;
      status: string;
      /** Of a command that has failed. */
      exit?: string;
      text: Excerpt;
      images: number;
      tookMs: number;
      /** Of the models that the tool itself has called. */
      figures?: Figures;
      inner?: InnerCallList;
    }
  /** Sizes are tokens of the next request. */
  | { kind: "trim"; calls: number; before?: number; after?: number }
  | { kind: "summary"; text: Excerpt; kept: number; figures: Figures; before?: number; after?: number }
  | {
      kind: "turn-end";
      turn: string;
      ended: Ending;
      detail: string;
      text: Excerpt;
      steps: number;
      figures: Figures;
    }
);

export interface TimelinePage {
  entries: TimelineEntry[];
  /** Position of the first record looked at; 0 when there is nothing before. */
  from: number;
  /** Records in the journal. */
  length: number;
}

/** What is said about a turn at this moment and stored nowhere. */
export interface TransientEvent {
  kind: "step" | "retry" | "notice";
  text: string;
}

/** What a sub-agent did in a call, the last calls; `omitted` says how many were before them. */
export interface InnerCallList {
  calls: InnerCall[];
  omitted: number;
}
