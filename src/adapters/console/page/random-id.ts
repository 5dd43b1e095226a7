/** A random id, as the server wants it for threads and for messages. */
export function randomId(): string {
  // crypto.randomUUID is missing from pages that are served over plain http by another machine.
  const bytes = crypto.getRandomValues(new Uint8Array(8));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
