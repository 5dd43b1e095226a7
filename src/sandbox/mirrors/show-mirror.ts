import type { Egress } from "../egress/egress.ts";
import { plainAddress } from "../egress/repository.ts";
import { type ExecRequest, unusableMirror } from "../sandbox.ts";
import type { ToolChains } from "../thread/tool-chains.ts";
import type { Mirrors } from "./mirrors.ts";
import type { GivenClone, Recipient } from "./ready-clones.ts";
import { viewState } from "./store.ts";

export interface ShownMirrorDeps {
  mirrors?: Mirrors;
  egress: Pick<Egress, "policyOf">;
  toolChains?: ToolChains;
}

export interface WantedMirror extends Pick<ExecRequest, "setUpOf"> {
  threadId: string;
  address: string;
  signal: AbortSignal | undefined;
}

/** A mirror as one command sees it. */
export interface ShownMirror {
  /** bwrap arguments. */
  view: readonly string[];
  /** A clone that lies in the workspace from then on, for a command that clones; undefined where none is ready. */
  giveReady(recipient: Recipient): Promise<GivenClone | undefined>;
  /** The command begins to copy the mirror. Gives what is to be called when it has ended. */
  begin(): () => void;
  /** Takes the exit code of the command. */
  ended(exitCode: number | null): Promise<void>;
}

/**
 * For a thread that may reach the repository, as its proxy judges it, and for no other.
 *
 * @returns undefined where there is no mirror to be had
 */
export async function openShownMirror(
  { mirrors, egress, toolChains }: ShownMirrorDeps,
  { threadId, address, setUpOf, signal }: WantedMirror,
): Promise<ShownMirror | undefined> {
  const own = egress.policyOf(threadId)?.repositories ?? [];
  const repository = own.find((each) => plainAddress(each) === address);
  const state = repository && (await mirrors?.open(repository, { signal, commit: setUpOf?.commit }));
  if (!mirrors || !repository || state === undefined) return undefined;
  const view = toolChains?.viewOf(threadId) ?? [];
  const made = setUpOf && (await mirrors.openSetUp(repository, { ...setUpOf, state, view, signal }));
  return {
    view: [
      ...viewState(state),
      ...(made === undefined ? [] : ["--ro-bind", made, "/set-up", "--setenv", "HEDDLE_SET_UP", "/set-up"]),
    ],
    giveReady: async (recipient) => (setUpOf ? undefined : await mirrors.giveReady(repository, recipient)),
    begin: () => (setUpOf ? () => {} : mirrors.beginClone()),
    async ended(exitCode) {
      if (exitCode === unusableMirror) await mirrors.doubt(repository);
      if (exitCode === 0 && !setUpOf) mirrors.prepareNext(repository, state);
    },
  };
}
