/** The passwords in the addresses of a text (`scheme://user:password@host`), as they are written and as they are sent. */
export function findPasswords(text: string): string[] {
  return [...text.matchAll(/:\/\/[^/\s:@]*:([^/\s]+)@/g)].flatMap(([, written = ""]) => [
    ...new Set([written, decodePercent(written)]),
  ]);
}

/** A password with a bare percent sign is sent as it stands. */
function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
