import type { Egress } from "../egress/egress.ts";
import { plainAddress } from "../egress/repository.ts";
import { unusableMirror } from "../sandbox.ts";
import type { Mirrors } from "./mirrors.ts";
import { viewState } from "./store.ts";

/** A mirror as one command sees it. */
export interface ShownMirror {
  /** bwrap arguments. */
  view: readonly string[];
  /** Takes the exit code of the command. */
  ended(exitCode: number | null): void;
}

/**
 * For a thread that may reach the repository, as its proxy judges it, and for no other.
 *
 * @returns undefined where there is no mirror to be had
 */
export async function openShownMirror(
  { mirrors, egress }: { mirrors?: Mirrors; egress: Pick<Egress, "policyOf"> },
  { threadId, address, signal }: { threadId: string; address: string; signal: AbortSignal | undefined },
): Promise<ShownMirror | undefined> {
  const own = egress.policyOf(threadId)?.repositories ?? [];
  const repository = own.find((each) => plainAddress(each) === address);
  const state = repository && (await mirrors?.open(repository, signal));
  if (!repository || state === undefined) return undefined;
  return {
    view: viewState(state),
    ended: (exitCode) => exitCode === unusableMirror && mirrors?.doubt(repository),
  };
}
