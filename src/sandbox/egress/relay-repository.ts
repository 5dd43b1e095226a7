import type { IncomingMessage } from "node:http";
import { toDestination } from "./destination.ts";
import { forward } from "./forward.ts";
import { readPushCommands } from "./push-commands.ts";
import { type Refusal, refuse } from "./refusal.ts";
import type { Relay } from "./relay.ts";
import { type EgressRepository, type matchRepository, plainAddress } from "./repository.ts";

const unauthorized = 401;
const mostAddress = 300;
const isRedirect = (status: number) => [301, 302, 303, 307, 308].includes(status);
const mustBeCaught = (status: number) => status === unauthorized || isRedirect(status);

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
    const { host, port } = toDestination(target);
    const dialled = await dial(host, port);
    if (!dialled.ok) return dialled;
    const caught = await forward({
      url: target,
      ...(value !== undefined && { credential: { header: "authorization", value } }),
      ...{ incoming, answer, catches: mustBeCaught },
      meter: meter(`${incoming.method} ${target.host}${target.pathname}`, dialled.socket),
      connection: dialled.socket,
      ...(isSecure && { secure: (connection) => dialer.secure(connection, target.hostname) }),
    });
    if (caught?.status !== unauthorized) return caught && refuse(502, describeMove(target, caught.location));
    refused = value ?? "";
  }
  const address = plainAddress(repository);
  return refuse(
    502,
    `${target.hostname} does not accept Heddle's credential for ${address}; ask the operator`,
  );
}

/** Nobody follows it: the credential is for this address, and the operator has vouched for no other. */
function describeMove(from: URL, location = ""): string {
  const to = URL.parse(location, from);
  const is = to && /^https?:$/.test(to.protocol) ? `${to.origin}${to.pathname}` : "elsewhere";
  const where = is.replace(/\/(?:info\/refs|git-upload-pack|git-receive-pack)$/, "").slice(0, mostAddress);
  return `${from.host} says that the repository has moved to ${where}; ask the operator to correct its url in repositories`;
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
