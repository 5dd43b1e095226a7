/** What this browser keeps of a choice, or null. Where a browser keeps nothing, a choice lasts as long as the page. */
export function readChoice(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Keeps a choice, or forgets it when it is undefined. */
export function storeChoice(key: string, value: string | undefined): void {
  try {
    if (value === undefined) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // It lasts as long as the page.
  }
}
