/** The page's own addresses; main.ts reads them. */

const ownPlace = "local:console:main:";

/** The conversation of a console thread. */
export function threadAddress(thread: string): string {
  return `#/t/${thread}`;
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
