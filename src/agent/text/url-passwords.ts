/** The passwords in the addresses of a text (`scheme://user:password@host`), as they are written and as they are sent. */
export function findPasswords(text: string): string[] {
  return [...text.matchAll(/:\/\/[^/\s:@]*:([^/\s]+)@/g)].flatMap(([, written = ""]) => [
    ...new Set([written, decodePercent(written)]),
  ]);
}

/** Percent-encoded text decoded; as it stands where it has a bare percent sign, which is how a password is sent then. */
export function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
