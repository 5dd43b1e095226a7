import type { ConsoleSetup, PlatformHearing, SetupRun } from "../setup-at-console.ts";
import { type SharedEvent, type StreamRequest, Streams } from "./streams.ts";

/** How the set-up stands. */
export interface SetupState {
  /** Why it cannot be had here. */
  problem?: string;
  /** The run that is under way, else the last one. */
  run?: SetupRun;
  /** Of the platforms that are configured. */
  hearing: PlatformHearing[];
}

export function readSetup(setup: ConsoleSetup): SetupState {
  const [problem, run] = [setup.problem(), setup.current()];
  return { ...(problem !== undefined && { problem }), ...(run && { run }), hearing: setup.hearing() };
}

/** Live streams of the set-up: `setup`, its {@link SetupState}, now and whenever it has changed. */
export class SetupStreams {
  readonly #setup: ConsoleSetup;
  readonly #streams: Streams;

  constructor(setup: ConsoleSetup, onError: (error: unknown) => void, shared?: SharedEvent) {
    this.#setup = setup;
    this.#streams = new Streams(onError, shared);
  }

  /** False when too many pages are connected; then nothing is written. */
  open(request: StreamRequest): boolean {
    const stream = this.#streams.open(request);
    if (!stream) return false;
    stream.onEnd(this.#setup.follow(() => stream.change()));
    stream.run(() => stream.send("setup", readSetup(this.#setup)));
    return true;
  }

  close(): void {
    this.#streams.close();
  }
}
