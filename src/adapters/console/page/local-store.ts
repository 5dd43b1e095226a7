/** What the browser keeps for this page. Where it keeps nothing, that lasts as long as the page. */

/** What this browser keeps under a key (a choice, a draft), or null. */
export function readLocal(key: string): string | null {
  return read(() => localStorage, key);
}

/** Keeps a value, or forgets it when it is undefined. */
export function storeLocal(key: string, value: string | undefined): void {
  store(() => localStorage, key, value);
}

/** What this tab alone keeps, over a reload, or null. */
export function readTab(key: string): string | null {
  return read(() => sessionStorage, key);
}

export function storeTab(key: string, value: string | undefined): void {
  store(() => sessionStorage, key, value);
}

function read(storage: () => Storage, key: string): string | null {
  try {
    return storage().getItem(key);
  } catch {
    return null;
  }
}

/** @param storage may be forbidden already to be named */
function store(storage: () => Storage, key: string, value: string | undefined): void {
  try {
    if (value === undefined) storage().removeItem(key);
    else storage().setItem(key, value);
  } catch {
    // It lasts as long as the page.
  }
}
