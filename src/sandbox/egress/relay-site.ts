import { forward } from "./forward.ts";
import type { Refusal } from "./refusal.ts";
import type { Relay } from "./relay.ts";

/** Sends a plain request on to its site. Gives why it was refused. */
export async function readFromSite(
  url: URL,
  { incoming, answer, dial, meter }: Relay,
): Promise<Refusal | undefined> {
  const dialled = await dial(url.hostname, Number(url.port) || 80);
  if (!dialled.ok) return dialled;
  await forward({
    ...{ url, incoming, answer },
    meter: meter(`${incoming.method} ${url.host}`, dialled.socket),
    connection: dialled.socket,
  });
  return undefined;
}
