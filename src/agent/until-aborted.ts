/**
 * The outcome of the work, or the signal's reason as soon as it is aborted: nobody waits for what does not listen to it,
 * such as a platform that is silent or a look-up of a name. What is left behind goes on, and its failure is nobody's.
 *
 * ```ts
 * await untilAborted(lookup(host), signal); // throws signal.reason when the turn is stopped
 * ```
 *
 * @throws what the work rejects with, or the signal's reason
 */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
