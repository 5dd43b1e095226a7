import { once } from "node:events";
import { createConnection, createServer } from "node:net";
import { expect, test } from "vitest";
import { startSilentRelay } from "./silent-relay.ts";
import { listen } from "./listen.ts";

test("The relay passes everything once, however often it is released, and later what it has held", async () => {
  const echo = createServer((socket) => socket.pipe(socket));
  const relay = await startSilentRelay({ port: await listen(echo) });
  const client = createConnection(relay.port, "127.0.0.1");
  let heard = "";
  client.setEncoding("utf8").on("data", (text: string) => (heard += text));
  const echoed = async (text: string) => {
    client.write(text);
    while (heard.length < text.length) await once(client, "data");
    const all = heard;
    heard = "";
    return all;
  };
  expect(await echoed("one")).toBe("one");
  relay.release();
  relay.release();
  expect(await echoed("two")).toBe("two");
  relay.hold();
  const held = echoed("three");
  relay.release();
  expect(await held).toBe("three");
  expect(await echoed("four")).toBe("four");
  client.destroy();
  await relay.close();
  echo.close();
});
