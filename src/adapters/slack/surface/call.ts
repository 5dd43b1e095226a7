import { refusalCode } from "../connection/web.ts";
import { toSurfaceError } from "./errors.ts";

/**
 * Calls Slack. A refusal with one of the `harmless` codes counts as done and gives undefined.
 * @throws SurfaceError for every other failure
 */
export async function callSlack<T>(
  method: string,
  work: () => Promise<T>,
  harmless: readonly string[] = [],
): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (harmless.includes(refusalCode(error) ?? "")) return undefined;
    throw toSurfaceError(method, error);
  }
}
