import type { ElicitRequest, ElicitResult } from "@modelcontextprotocol/sdk/types.js";
import type { CallRequest } from "./call.ts";

/** The calls that run over a server's connection, and who is asked what the server wants to know meanwhile. */
export class RunningCalls {
  readonly #running = new Set<CallRequest>();
  readonly #onProblem: (error: unknown) => void;

  /** `onProblem` hears of questions that could not be asked. */
  constructor(onProblem: (error: unknown) => void) {
    this.#onProblem = onProblem;
  }

  /** Makes a call, whose person can be asked until it is over. */
  async run<T>(request: CallRequest, make: (request: CallRequest) => Promise<T>): Promise<T> {
    const running = this.#guard(request);
    this.#running.add(running);
    try {
      return await make(running);
    } finally {
      this.#running.delete(running);
    }
  }

  /** A request does not say which call it belongs to: of several, nobody is asked in another's place. */
  async elicit(params: ElicitRequest["params"]): Promise<ElicitResult> {
    const [call, ...others] = this.#running;
    if (!call?.onElicit || others.length > 0) return { action: "cancel" };
    return await call.onElicit(params);
  }

  /** Where a question fails, nobody has decided; that is no reason to end the call. */
  #guard(request: CallRequest): CallRequest {
    const { onElicit } = request;
    if (!onElicit) return { ...request };
    return {
      ...request,
      onElicit: async (params) => {
        try {
          return await onElicit(params);
        } catch (error) {
          this.#onProblem(error);
          return { action: "cancel" };
        }
      },
    };
  }
}
