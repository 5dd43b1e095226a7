/** The page's own addresses; main.ts reads them. */

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
  return `local:console:main:${thread}`;
}
