import type { ClientRequest, IncomingMessage } from "node:http";

/** Answers of servers that nobody vouches for, as far as they can be passed on: for each that relays such a request. */

/** The status to pass on: what is below 200 is no final answer, and Node throws on what is below 100. */
export function finalStatus({ statusCode = 0 }: Pick<IncomingMessage, "statusCode">): number {
  return statusCode < 200 ? 502 : statusCode;
}

/** Fails a request whose server changes the protocol unasked: by itself Node closes it and tells of neither answer nor error. */
export function refuseUpgrade(request: ClientRequest): void {
  request.once("upgrade", (_answer, socket) => {
    socket.destroy();
    request.emit("error", new Error("The server has changed the protocol, which nobody has asked for."));
  });
}
