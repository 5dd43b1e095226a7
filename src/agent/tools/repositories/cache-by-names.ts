/** Far more than an installation has channels with other repositories; changed configurations leave theirs behind. */
const most = 200;

/**
 * Remembers what is made of a channel's repositories from one turn to the next.
 *
 * @param make gets their names, of which there is at least one, and a text about each
 */
export function cacheByNames<T>(
  make: (names: [string, ...string[]], told: readonly string[]) => T,
): (names: readonly string[], told?: readonly string[]) => T {
  const made = new Map<string, T>();
  return (names, told = []) => {
    const key = JSON.stringify([names, told]);
    const known = made.get(key);
    if (known !== undefined) return known;
    const fresh = make(names as [string, ...string[]], told);
    const [oldest] = made.keys();
    if (made.size >= most && oldest !== undefined) made.delete(oldest);
    made.set(key, fresh);
    return fresh;
  };
}
