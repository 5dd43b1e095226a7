import { createHash } from "node:crypto";

/**
 * Keeps what people decide on and what they were shown together: a folder is looked at for each of them, and the thread's
 * jobs may write there in between. A proposal goes by its hash, a call by its input.
 */
export interface ShownProposals {
  /** People are to be shown that. */
  show(call: object, hash: string): void;
  /** It is that at this moment. Gives what an approval is about: neither of them, where they were shown another one. */
  pin(call: object, hash: string): string;
  /** There is nothing to show. */
  forget(call: object): void;
  /** Whether it is what an approval is about. */
  isPinned(call: object, hash: string): boolean;
}

export function createShownProposals(): ShownProposals {
  const shown = new Map<string, string>();
  const pinned = new Map<string, string>();
  const keyOf = (call: object) => JSON.stringify(call);
  return {
    show: (call, hash) => void shown.set(keyOf(call), hash),
    pin(call, hash) {
      const before = shown.get(keyOf(call)) ?? hash;
      const isSame = before === hash;
      if (isSame) pinned.set(keyOf(call), hash);
      else pinned.delete(keyOf(call));
      return isSame ? hash : createHash("sha256").update(`${before} ${hash}`).digest("hex");
    },
    forget(call) {
      shown.delete(keyOf(call));
      pinned.delete(keyOf(call));
    },
    isPinned: (call, hash) => pinned.get(keyOf(call)) === hash,
  };
}
