/** The page's own addresses; main.ts reads them. */

const ownPlace = "local:console:main:";

/** The conversation of a console thread. */
export function threadAddress(thread: string): string {
  return `#/t/${thread}`;
}

/** A message of it, where it is shown and marked. */
export function messageAddress(thread: string, message: string): string {
  return `${threadAddress(thread)}/${encodeURIComponent(message)}`;
}

/** A record of a timeline, by its position in the journal. */
export function recordAddress(thread: string, position: number): string {
  return `${sessionAddress(thread)}/${position}`;
}

/** What is to be shown of a thread: all of it, or a message or record first. */
export interface ThreadGoal {
  thread: string;
  /** The id of a message, or the position of a record. */
  at?: string;
}

/** The conversation that an address leads to. */
export function readThreadAddress(hash: string): ThreadGoal | undefined {
  return readGoal(/^#\/t\/([a-z0-9]{8,32})(?:\/([^/]+))?$/.exec(hash));
}

/** The timeline that an address leads to. */
export function readSessionAddress(hash: string): ThreadGoal | undefined {
  return readGoal(/^#\/s\/([^/]+)(?:\/(\d{1,9}))?$/.exec(hash));
}

function readGoal(found: RegExpExecArray | null): ThreadGoal | undefined {
  try {
    const [thread, at] = (found ?? []).slice(1).map((part?: string) => decodeURIComponent(part ?? ""));
    return thread ? { thread, ...(at && { at }) } : undefined;
  } catch {
    // It is not encoded as such addresses are.
    return undefined;
  }
}

/** The timeline of a thread of any platform. */
export function sessionAddress(thread: string): string {
  return `#/s/${encodeURIComponent(thread)}`;
}

/** The id of a console thread as it is among the threads of all platforms. */
export function wholeThread(thread: string): string {
  return `${ownPlace}${thread}`;
}

/** The other way round; null for threads of other platforms. */
export function shortThread(thread: string): string | null {
  return thread.startsWith(ownPlace) ? thread.slice(ownPlace.length) : null;
}
