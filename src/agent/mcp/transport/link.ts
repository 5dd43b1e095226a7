import type { ElicitRequest, ElicitResult, Progress } from "@modelcontextprotocol/sdk/types.js";
import type { z } from "zod";
import type { ServiceHost } from "../../../sandbox/service.ts";
import type { AccountStore } from "../../contracts/mcp-account.ts";
import { endsConnection } from "../failure.ts";

/** For requests that a {@link startDeadline} bounds: disables the SDK's own time-out of 60 s. */
export const withoutOwnTimeout = { timeout: 2 ** 31 - 1 };

/** What both of the protocol's packages have: decision 58 says which of them speaks with which servers. */
export interface ProtocolClient {
  request<T>(
    request: { method: string; params?: Record<string, unknown> },
    schema: z.ZodType<T>,
    options: {
      signal: AbortSignal;
      timeout: number;
      onprogress?: (progress: Progress) => void;
      /** Of this request, where the transport has any. */
      headers?: Record<string, string>;
    },
  ): Promise<T>;
  getServerCapabilities():
    | { tools?: object | undefined; resources?: object | undefined; prompts?: object | undefined }
    | undefined;
  getInstructions(): string | undefined;
}

/** The protocol client and what carries it, for one server and one connection; never used again after its end. */
export interface Link {
  readonly client: ProtocolClient;
  /** Starts the server or opens the stream, and completes the handshake. */
  connect(signal: AbortSignal): Promise<void>;
  /** Whether arguments are repeated in headers where a tool's schema wants that; known once it is connected. */
  mirrorsArguments(): boolean;
  /** Asks to be told of changes, where that must be asked for (2026-07-28). Again after each listing; never rejects. */
  follow(): Promise<void>;
  /** The connection has ended, by either side. */
  ended(): boolean;
  /** One clause about what went wrong, with the last words of a server process. */
  explain(error: unknown): string;
  close(): Promise<void>;
}

export interface LinkEvents {
  onEnd(): void;
  /** Its tools or prompts have changed. */
  onListChanged(): void;
  /** The server wants to know something of a person, in the middle of a call. */
  onElicit(params: ElicitRequest["params"]): Promise<ElicitResult>;
}

/** The part of both packages' clients that tells how the connection does. */
interface WatchedClient {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
}

/**
 * Tells of the connection's end, and brings it about when an error shows that no answer can arrive any more.
 *
 * @returns whether it has ended
 */
export function watchEnd(
  client: WatchedClient,
  transport: { close(): Promise<void> },
  { onEnd }: Pick<LinkEvents, "onEnd">,
): () => boolean {
  let ended = false;
  /* oxlint-disable unicorn/prefer-add-event-listener -- the SDKs' clients are no EventTargets */
  client.onclose = () => {
    ended = true;
    onEnd();
  };
  client.onerror = (error) => {
    // Not at once, so that the request that met the error still learns of it.
    if (endsConnection(error)) setImmediate(() => void transport.close());
  };
  /* oxlint-enable unicorn/prefer-add-event-listener */
  return () => ended;
}

/** Heddle answers no sampling or roots requests of a server. */
export const capabilities = { elicitation: { form: {}, url: {} } };

/** Which of the protocol's ways a server process has been found to speak; as long as its configuration is the same. */
export interface ServerEra {
  /** 2026-07-28 on, and no older version. */
  isStateless: boolean;
}

export interface LinkOptions {
  /** Of this program, as servers are told. */
  version: string;
  /** The longest silence of an HTTP server, in milliseconds. */
  readMs: number;
  /** Of a server process; the link learns it. */
  era: ServerEra;
  /** Where server processes run; without it only those start that want no sandbox. */
  sandboxes?: ServiceHost | undefined;
  /** The installation's accounts at servers that want one. */
  accounts?: AccountStore | undefined;
  /** Told of each token before it is used. */
  onToken?: ((token: string) => void) | undefined;
  log(level: "info" | "warn", message: string): void;
}
