import { once } from "node:events";
import { createServer } from "node:net";

/**
 * A port that nobody uses, for somebody who takes it later, or twice. It is below those that systems give away by
 * themselves, or else another's connection could have it in between, or one's own that is tried again and again.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    const server = createServer().listen(port, "127.0.0.1");
    const isFree = await once(server, "listening").then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, "close");
    return port;
  }
}
