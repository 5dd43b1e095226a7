import type { Server } from "node:http";
import { onTestFinished } from "vitest";
import { closeServer, listen } from "./listen.ts";

/** Has a server listen until the test is over. Resolves with its address, without a slash at its end. */
export async function listenForTest(server: Server): Promise<string> {
  const port = await listen(server);
  onTestFinished(() => closeServer(server));
  return `http://127.0.0.1:${port}`;
}
