/** The calls of a message's turn, looked up in the journal when somebody wants to see more of them than is in the message. */
import type { ShownCall } from "../../../../chat/outbound.ts";
import type { CallDetails, CallLine } from "../../../../operations/operations.ts";
import { getCall, getCalls } from "../api.ts";

export class TurnCalls {
  readonly #thread: string;
  readonly #turn: string;
  #lines: Promise<CallLine[]> | undefined;

  /** @param thread of any platform, with its whole address */
  constructor(thread: string, turn: string) {
    this.#thread = thread;
    this.#turn = turn;
  }

  /** What is known of a call of the message; undefined while it is not in the journal. */
  async find(shown: readonly ShownCall[], id: string): Promise<CallDetails | undefined> {
    for (const isLast of [false, true]) {
      const line = matchLines(shown, await this.#read(isLast)).get(id);
      if (line) return await getCall(this.#thread, line.key);
    }
    return undefined;
  }

  /** The calls before those of the message. */
  async before(shown: readonly ShownCall[]): Promise<CallLine[]> {
    const lines = await this.#read(true);
    const first = [...matchLines(shown, lines).values()].at(-1);
    return lines.slice(0, first ? lines.indexOf(first) : 0);
  }

  details(line: CallLine): Promise<CallDetails> {
    return getCall(this.#thread, line.key);
  }

  async #read(again: boolean): Promise<CallLine[]> {
    if (again) this.#lines = undefined;
    this.#lines ??= getCalls(this.#thread, this.#turn).then(({ calls }) => calls);
    try {
      return await this.#lines;
    } catch (error) {
      this.#lines = undefined;
      throw error;
    }
  }
}

/** The lines of the calls shown, by their id in the message, the last first: ids of calls may repeat, their order does not. */
function matchLines(shown: readonly ShownCall[], lines: readonly CallLine[]): Map<string, CallLine> {
  const found = new Map<string, CallLine>();
  let end = lines.length;
  for (const { id, callId } of shown.toReversed()) {
    const at = lines.slice(0, end).findLastIndex((line) => line.id === callId);
    const line = lines[at];
    if (!line) continue;
    found.set(id, line);
    end = at;
  }
  return found;
}
