const lockName = "heddle: a tab behind that listens";

/**
 * Keeps a stream open while somebody sees this tab.
 *
 * Over HTTP/1.1 browsers open six connections to a server, for all tabs together, and a stream keeps one: a seventh tab
 * with a stream would not even load. So of the tabs behind only one listens; when it comes to the front or is closed,
 * the next one does. Browsers have no locks for pages over plain HTTP from another machine; there no tab behind listens.
 *
 * @param open is called again whenever the tab comes to the front; returns what closes the stream
 * @returns what ends all of this
 */
export function keepWhileSeen(open: () => () => void): () => void {
  let close: (() => void) | undefined;
  let behind: AbortController | undefined;
  const setOpen = (isOpen: boolean) => {
    if (isOpen) close ??= open();
    else {
      close?.();
      close = undefined;
    }
  };
  const look = () => {
    behind?.abort();
    behind = undefined;
    if (!document.hidden) return setOpen(true);
    behind = new AbortController();
    void listenInTurn(behind.signal, setOpen);
  };
  document.addEventListener("visibilitychange", look);
  look();
  return () => {
    document.removeEventListener("visibilitychange", look);
    behind?.abort();
    setOpen(false);
  };
}

/** Opens the stream when it is this tab's turn, until `left` is aborted; never throws. */
async function listenInTurn(left: AbortSignal, setOpen: (isOpen: boolean) => void): Promise<void> {
  if (!("locks" in navigator)) return setOpen(false);
  const hold = (lock: Lock | null) => {
    if (left.aborted) return undefined;
    setOpen(lock !== null);
    return lock && new Promise((resolve) => left.addEventListener("abort", resolve, { once: true }));
  };
  try {
    // A stream that may stay is not opened anew.
    await navigator.locks.request(lockName, { ifAvailable: true }, hold);
    if (!left.aborted) await navigator.locks.request(lockName, { signal: left }, hold);
  } catch {
    // It was aborted while it waited.
  }
}
