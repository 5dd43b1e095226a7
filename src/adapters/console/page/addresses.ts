/** The page's own addresses; main.ts reads them. */

/** The conversation of a console thread. */
export function threadAddress(thread: string): string {
  return `#/t/${thread}`;
}

/** The timeline of a thread of any platform. */
export function sessionAddress(thread: string): string {
  return `#/s/${encodeURIComponent(thread)}`;
}
