import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from "vitest";
import type { Exposed, Exposure, Sandbox } from "../../src/sandbox/sandbox.ts";
import { serveFolder } from "../../src/sandbox/thread/serve-folder.ts";
import { dataFolder, openTwoThreads, type TwoThreads } from "./two-threads.ts";

const dataDir = dataFolder();
let threads: TwoThreads;
beforeAll(async () => {
  threads = await openTwoThreads(dataDir, { jobsPerThread: 3 });
});
afterEach(async () => {
  await Promise.all([threads.sandbox.killAll(), threads.other.killAll()]);
});
afterAll(async () => {
  await threads.backend.close();
  rmSync(dataDir, { recursive: true });
});

async function exposed(sandbox: Sandbox, what: Exposure): Promise<Exposed> {
  const result = await sandbox.expose(what);
  if (!result.ok) throw new Error(result.message);
  return result.exposed;
}

async function get({ connect }: Pick<Exposed, "connect">, path: string, method = "GET") {
  const asked = request({ path, method, createConnection: connect });
  const answered = new Promise<{ status: number; type: string; location?: string; body: string }>(
    (resolve, reject) => {
      asked.on("error", reject);
      asked.on("response", (response) => {
        const { "content-type": type = "", location } = response.headers;
        const known = { status: response.statusCode ?? 0, type, ...(location !== undefined && { location }) };
        text(response).then((body) => resolve({ ...known, body }), reject);
      });
    },
  );
  asked.end();
  return answered;
}

/** Starts a server on a port of the thread's loopback and waits until it listens. */
async function serves(
  sandbox: Sandbox,
  { port, says, host = "127.0.0.1" }: { port: number; says: string; host?: string },
) {
  const program = `require("node:http").createServer((_, r) => r.end("${says}")).listen(${port}, "${host}", () => console.log("up"))`;
  const started = await sandbox.start({ command: `node -e '${program}'` });
  if (!started.ok) throw new Error(started.message);
  await expect.poll(async () => (await started.job.read(0, 10)).total).toBeGreaterThan(0);
}

test("A port of the thread's loopback is reached from this process, and another thread's same port is not", async () => {
  await serves(threads.sandbox, { port: 3000, says: "mine" });
  await serves(threads.other, { port: 3000, says: "theirs" });
  const mine = await exposed(threads.sandbox, { port: 3000 });
  const theirs = await exposed(threads.other, { port: 3000 });
  expect([(await get(mine, "/")).body, (await get(theirs, "/")).body]).toEqual(["mine", "theirs"]);
  expect(mine.job.command).toBe("share port 3000");
});

test("A server that listens on the IPv6 loopback alone is reached too", async () => {
  await serves(threads.sandbox, { port: 3001, says: "six", host: "::1" });
  expect((await get(await exposed(threads.sandbox, { port: 3001 }), "/")).body).toBe("six");
});

test("A port that nobody listens on, and a folder that is not there, are refused with what to do", async () => {
  expect(await threads.sandbox.expose({ port: 3002 })).toEqual({
    ok: false,
    message: expect.stringMatching(/^Nothing answers on port 3002 .* 127\.0\.0\.1 or 0\.0\.0\.0, and share/),
  });
  expect(await threads.sandbox.expose({ folder: "no/such" })).toEqual({
    ok: false,
    message: 'There is no folder "no/such" that can be read.',
  });
});

test("A stop ends it, counted, with the connections through it", async () => {
  await serves(threads.sandbox, { port: 3003, says: "here" });
  const shown = await exposed(threads.sandbox, { port: 3003 });
  expect((await get(shown, "/")).body).toBe("here");
  const open = shown.connect();
  const closed = new Promise<void>((resolve) => open.on("error", () => {}).on("close", () => resolve()));
  expect(await threads.sandbox.killAll()).toMatchObject({ commands: 2, survivors: 0 });
  await closed;
  expect(shown.job.status()).toMatchObject({ state: "ended", end: "stopped" });
  await expect(get(shown, "/")).rejects.toThrow();
});

test("The files of a folder are served, and nothing beside it", async () => {
  await threads.sandbox.exec({
    command: [
      "mkdir -p site/deep site/list",
      "echo '<h1>home</h1>' > site/index.html",
      "echo 'body {}' > site/deep/style.css",
      "touch 'site/list/a&b.txt' site/list/.hidden",
      "echo secret > beside.txt; echo secret > site/.env",
      "ln -s ../beside.txt site/link.txt; ln -s deep/style.css site/inner.css",
    ].join("; "),
  });
  const site = await exposed(threads.sandbox, { folder: "site" });
  expect(await get(site, "/")).toEqual({
    status: 200,
    type: "text/html; charset=utf-8",
    body: "<h1>home</h1>\n",
  });
  expect(await get(site, "/deep/style.css?v=1")).toMatchObject({ status: 200, body: "body {}\n" });
  expect(await get(site, "/inner.css")).toMatchObject({ status: 200 });
  expect(await get(site, "/list")).toMatchObject({ status: 301, location: "./list/" });
  const listed = await get(site, "/list/");
  expect(listed.body).toContain('<a href="./a%26b.txt">a&#38;b.txt</a>');
  expect(listed.body).not.toContain("hidden");
  const refused = [
    "/link.txt",
    "/.env",
    "/../beside.txt",
    "/%2e%2e/beside.txt",
    "/%2E%2E%2fbeside.txt",
    "/none",
    "/%00",
    "/%",
  ];
  for (const path of refused) expect([path, (await get(site, path)).status]).toEqual([path, 404]);
  expect(await get(site, "/", "POST")).toMatchObject({ status: 405 });
  expect(await get(site, "/", "HEAD")).toMatchObject({ status: 200, body: "" });
});

test("Of a large folder the first names are listed, and how many others there are", async () => {
  await threads.sandbox.exec({
    command: "mkdir large && cd large && seq -w 2500 -1 1 | xargs touch && touch .hidden",
  });
  const { body } = await get(await exposed(threads.sandbox, { folder: "large" }), "/");
  const names = [...body.matchAll(/<a href="\.\/(\d+)">/g)].map(([, name]) => Number(name));
  expect(names).toEqual(Array.from({ length: 1_000 }, (_, index) => index + 1));
  expect(body).toContain("and 1500 more");
});

test("What is no file is not there, and keeps nothing else from being served", async () => {
  await threads.sandbox.exec({
    command: [
      "mkdir -p odd/page odd/deep/index.html; mkfifo -m 600 odd/pipe odd/page/index.html",
      "ln -s pipe odd/link; echo text >odd/file",
    ].join("; "),
  });
  const site = await exposed(threads.sandbox, { folder: "odd" });
  const paths = ["/pipe", "/link", "/pipe", "/link", "/page/", "/deep/"];
  for (const method of ["GET", "HEAD"]) {
    const answers = await Promise.all(paths.map(async (path) => (await get(site, path, method)).status));
    expect(answers).toEqual(paths.map(() => 404));
  }
  expect(await get(site, "/file")).toMatchObject({ status: 200, body: "text\n" });
});

test("A file that somebody has stopped loading is not held open", async () => {
  const folder = dataFolder();
  const [file, socket] = [join(folder, "film.mp4"), join(folder, ".socket")];
  writeFileSync(file, Buffer.alloc(20_000_000));
  const source = `(${serveFolder.toString()})(...${JSON.stringify([folder, socket])})`;
  const server = spawn(process.execPath, ["--input-type=module", "--eval", source]);
  onTestFinished(() => {
    server.kill("SIGKILL");
    rmSync(folder, { recursive: true });
  });
  await expect.poll(() => existsSync(socket)).toBe(true);
  for (let time = 0; time < 5; time++) {
    const asked = request({ path: "/film.mp4", socketPath: socket })
      .on("error", () => {})
      .end();
    const [response] = await once(asked, "response");
    await once(response, "data");
    asked.destroy();
  }
  const fds = `/proc/${server.pid}/fd`;
  const isHeld = (fd: string) => {
    try {
      return readlinkSync(join(fds, fd)) === file;
    } catch {
      return false;
    }
  };
  await expect.poll(() => readdirSync(fds).filter(isHeld)).toEqual([]);
});
