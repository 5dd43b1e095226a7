import type { Usage } from "../model.ts";
import type { PolicyDecision } from "../policy-decision.ts";
import type { WebResult } from "./web-result.ts";

export const webFetchName = "web_fetch";
export const webSearchName = "web_search";

/** Begins a line of a result with an address that Heddle vouches for. What others wrote stands behind `> `. */
export const addressLine = "Address: ";

/** The web as the tools of one turn reach it, within what the operator lets the channel do. */
export interface WebAccess {
  /** Absent where the channel may not read pages. */
  pages?: WebPages;
  /** Absent where the channel may not search, or no service is configured. */
  search?: WebSearch;
}

export interface WebPages {
  /**
   * Whether the address may be fetched: one that a person wrote, a search returned or a fetched page linked may be, and
   * one that the model has put together is asked for or refused. `why` begins with a small letter. Never throws.
   */
  judge(address: string): Promise<PolicyDecision>;
  /** Fetches a page that was judged before. Never throws for an expected failure. */
  read(address: string, options: { whole: boolean; signal: AbortSignal }): Promise<WebReading>;
  /** Remembers the addresses that a result shows the model, for the rest of the turn. */
  noteShown(result: { tool: string; text: string }): void;
}

/** What became of an address. `message` is one sentence for the model. */
export type WebReading =
  | { ok: true; kind: "text"; page: WebPage }
  | { ok: true; kind: "file"; file: WebFile }
  | { ok: false; message: string; outage?: boolean };

/** A page as text. */
export interface WebPage {
  /** Where it was found in the end. */
  address: string;
  title?: string;
  /** Markdown of HTML and feeds, anything else as it is. */
  text: string;
  /** What the model should know about how it was read. */
  remarks: string[];
  /** Milliseconds since the epoch. */
  at: number;
}

/** What is no text: for the workspace. */
export interface WebFile {
  address: string;
  mediaType: string;
  data: Uint8Array;
  at: number;
}

export interface WebSearch {
  /** Never throws for an expected failure. */
  find(query: WebQuery, signal: AbortSignal): Promise<WebFindings>;
}

export interface WebQuery {
  words: string;
  count: number;
  /** Only what is at most so old. */
  since?: "day" | "week" | "month" | "year";
}

/** `usage`: of the model that has searched. */
export type WebFindings =
  | { ok: true; service: string; results: WebResult[]; at: number; usage?: Usage }
  | { ok: false; message: string; outage?: boolean; usage?: Usage };
