import { once } from "node:events";
import type { Server as HttpServer } from "node:http";
import type { Server as HttpsServer } from "node:https";
import type { Server } from "node:net";

/** Has a server listen on a free port, of the loopback interface unless told otherwise. Resolves with the port. */
export async function listen(server: Server, host = "127.0.0.1"): Promise<number> {
  server.listen(0, host);
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server listens on no port.");
  return address.port;
}

/** Ends a server and whatever is still connected to it. */
export async function closeServer(server: HttpServer | HttpsServer): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
}
