import { mkdir, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { useSetting } from "./hooks.ts";

const here = useSetting();

const settings = `
previews: { address: "http://{id}.localhost:{port}", port: 0 }
demo:
  scripts: scripts
`;

const script = `
steps:
  - calls:
      - tool: bash
        input: { command: "mkdir site; echo '<h1>A page</h1>' > site/index.html" }
  - calls:
      - tool: share_folder
        input: { path: site }
  - calls:
      - tool: bash
        input: { command: "sleep 300" }
  - text: "{{result:1}}"
`;

/** As a browser does, whose names below localhost lead here. */
async function open(address: string): Promise<{ status: number | undefined; body: string }> {
  const { host, port } = new URL(address);
  const asked = request({ host: "127.0.0.1", port, headers: { host } });
  const answered = new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
    asked.on("error", reject);
    asked.on("response", (response) => {
      text(response).then((body) => resolve({ status: response.statusCode, body }), reject);
    });
  });
  asked.end();
  return answered;
}

test("a preview that the answer gives can be opened until the thread is stopped, which counts it", async () => {
  await mkdir(join(here.place.folder, "scripts"));
  await writeFile(join(here.place.folder, "heddle.yaml"), settings);
  await writeFile(join(here.place.folder, "scripts", "all.yaml"), script);
  const program = here.place.start(["start"], { REDIS_URL: here.redis.path });
  const line = await program.line(/console +http/);
  const api = `${(line.trim().split(/ +/)[1] ?? "").replace(/\/$/, "")}/api`;
  const post = async (path: string, body: unknown) =>
    fetch(`${api}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const read = async () => (await fetch(`${api}/sessions/local:console:main:shows001/timeline`)).text();
  expect((await post("/threads/shows001/messages", { text: "show it", key: "12345678" })).ok).toBe(true);
  await expect.poll(read, { timeout: 60_000 }).toMatch(/People can open http/);
  const [address = ""] = /http:\/\/[a-z2-7]{26}\.localhost:\d+\//.exec(await read()) ?? [];
  await expect.poll(read, { timeout: 60_000 }).toMatch(/sleep 300.*"tool-start"/s);
  expect(await open(address)).toEqual({ status: 200, body: "<h1>A page</h1>\n" });

  expect((await post("/threads/shows001/stop", {})).ok).toBe(true);
  await expect.poll(async () => (await open(address)).status, { timeout: 30_000 }).toBe(410);
  await program.line(/"outcome":"stopped".*"killed":3,"survivors":0/);
  program.signal("SIGTERM");
  expect(await program.ended).toBe(0);
});
