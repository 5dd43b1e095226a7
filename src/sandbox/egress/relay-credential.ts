import { forward } from "./forward.ts";
import type { Credential } from "./policy.ts";
import { type Refusal, refuse } from "./refusal.ts";
import type { Relay } from "./relay.ts";

/** Sends a plain request on over TLS, with the credential of its host. Gives why it was refused. */
export async function relayWithCredential(
  url: URL | null,
  credentials: readonly Credential[],
  { incoming, answer, dialer, dial, meter }: Relay,
): Promise<Refusal | undefined> {
  const credential = credentials.find(({ host }) => host === url?.hostname);
  const isPlain = url?.protocol === "http:" && url.port === "" && incoming.method !== "TRACE";
  if (!isPlain || !credential) {
    return refuse(403, "only https is open; plain http is for hosts with a credential, which the proxy adds");
  }
  const dialled = await dial(url.hostname, 443);
  if (!dialled.ok) return dialled;
  await forward({
    ...{ url, credential, incoming, answer },
    meter: meter(`${incoming.method} ${url.hostname}`, dialled.socket),
    connection: dialled.socket,
    secure: (connection) => dialer.secure(connection, url.hostname),
  });
  return undefined;
}
