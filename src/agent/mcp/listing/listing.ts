import type { ParamHeader } from "../transport/param-headers.ts";

/** A tool as its server describes it, in a form that every model API accepts. */
export interface ServerTool {
  /** The server's own name for it. */
  name: string;
  description: string;
  schema: Record<string, unknown>;
  /** Arguments that are repeated in headers; none where the server is not of a version and transport that has them. */
  paramHeaders: readonly ParamHeader[];
  /** What the server says about it; nobody has checked it. */
  claims: { readOnly: boolean; idempotent: boolean };
}

/** A prompt of a server that people may begin a task with. Its words are untrusted. */
export interface ServerPrompt {
  name: string;
  /** One line. */
  description: string;
  /** `about`: one line, absent where the server says nothing. */
  arguments: { name: string; about?: string; required: boolean }[];
}

/** What a server offers. */
export interface Listing {
  tools: ServerTool[];
  prompts: ServerPrompt[];
  /** How it says that its tools are to be used; empty where it says nothing. */
  instructions: string;
  hasResources: boolean;
  /** One sentence for each tool or prompt that cannot be offered. */
  leftOut: string[];
}

/** Of a server that has not been asked yet. */
export const nothingListed: Listing = {
  tools: [],
  prompts: [],
  instructions: "",
  hasResources: false,
  leftOut: [],
};
