import type { IncomingMessage } from "node:http";
import { forward } from "./forward.ts";
import { readPushCommands } from "./push-commands.ts";
import { type Refusal, refuse } from "./refusal.ts";
import type { Relay } from "./relay.ts";
import { type EgressRepository, type matchRepository, plainAddress } from "./repository.ts";

/** Sends a request of git's on to its repository, signed in; a push only where it may pass. Gives why it was refused. */
export async function relayToRepository(
  { repository, service, target }: NonNullable<ReturnType<typeof matchRepository>>,
  { incoming, answer, dialer, dial, meter }: Relay,
): Promise<Refusal | undefined> {
  if (service === "git-receive-pack") {
    const reason = await findPushRefusal(repository, incoming);
    if (reason !== undefined) return refuse(403, reason);
  }
  const isSecure = target.protocol === "https:";
  let refused: string | undefined;
  for (let attempt = 1; attempt <= 2; attempt++) {
    const authorization = await repository.authorize(refused);
    if (!authorization.ok) return refuse(502, authorization.reason);
    const { value } = authorization;
    // A body is gone with the first attempt: git's next request has what is newer.
    if (refused !== undefined && (value === refused || incoming.method !== "GET")) break;
    const dialled = await dial(target.hostname, Number(target.port) || (isSecure ? 443 : 80));
    if (!dialled.ok) return dialled;
    const isUnauthorized = await forward({
      url: target,
      ...(value !== undefined && { credential: { header: "authorization", value } }),
      ...{ incoming, answer, catchesUnauthorized: true },
      meter: meter(`${incoming.method} ${target.host}${target.pathname}`, dialled.socket),
      connection: dialled.socket,
      ...(isSecure && { secure: (connection) => dialer.secure(connection, target.hostname) }),
    });
    if (!isUnauthorized) return undefined;
    refused = value ?? "";
  }
  const address = plainAddress(repository);
  return refuse(
    502,
    `${target.hostname} does not accept Heddle's credential for ${address}; ask the operator`,
  );
}

async function findPushRefusal(
  repository: EgressRepository,
  incoming: IncomingMessage,
): Promise<string | undefined> {
  if (incoming.method === "GET") return repository.refusePush();
  const read = await readPushCommands(incoming);
  if (!read.ok) return read.reason;
  // Before a large push git asks with an empty one whether it is signed in.
  for (const command of read.commands) {
    const reason = repository.refusePush(command);
    if (reason !== undefined) return reason;
  }
  return undefined;
}
