/** A server as a process, in a sandbox or without one. */
export interface ServerProcess {
  /** Rejects when nobody takes it. */
  write(text: string): Promise<void>;
  /** Resolves when it has ended and all its output has come, with how it ended as a clause. Never rejects. */
  readonly ended: Promise<string>;
  /** Ends it and what it has started, within some three seconds. Never rejects. */
  stop(): Promise<void>;
  /** What it seems to lack, as a clause with the way out; empty where nothing is known. */
  hint(): string;
}

/** Takes what it writes. */
export type OnOutput = (stream: "stdout" | "stderr", chunk: Buffer) => void;

/** Rejects with one clause when it cannot be started. */
export type StartServer = (onOutput: OnOutput) => Promise<ServerProcess>;

/** How long a server may take to exit after its input was closed, and after each further step. */
export const graceMs = 1_000;
