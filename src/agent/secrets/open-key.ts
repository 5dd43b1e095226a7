/** The text before a private key that has not ended yet, for what is shown while it grows: half a key is not recognised. */
export function cutOpenKey(text: string): string {
  const opening = text.lastIndexOf("-----BEGIN ");
  const isOpen = opening >= 0 && !/-----END [A-Z ]+-----/.test(text.slice(opening));
  return isOpen ? text.slice(0, opening) : text;
}
