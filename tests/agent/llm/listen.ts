import { once } from "node:events";
import type { Server } from "node:http";
import { onTestFinished } from "vitest";

/** Has a server listen on a free port of the loopback interface until the test is over. Resolves with its address. */
export async function listen(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server listens on no port.");
  return `http://127.0.0.1:${address.port}`;
}
