import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { describeTool } from "../../../src/agent/tools/definition.ts";
import { freePort } from "../../fakes/free-port.ts";
import { type Entries, listTools, poolOf, run, sharedFolder, toolNamed, useSandboxes } from "./harness.ts";
import { repository } from "./repository.ts";

useSandboxes();

// The public reference servers, as an operator would run them.

function entryPoint(name: string): string {
  const manifest = createRequire(join(repository, "package.json")).resolve(
    `@modelcontextprotocol/${name}/package.json`,
  );
  return join(dirname(manifest), "dist", "index.js");
}

/** Starts server-everything behind a port, and waits until it listens. */
async function serveEverything(transport: "sse" | "streamableHttp"): Promise<number> {
  const port = await freePort();
  const child = spawn(process.execPath, [entryPoint("server-everything"), transport], {
    env: { PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await once(child, "close");
  });
  const listening = Promise.withResolvers<void>();
  // Read to the end: it goes on writing there, and dies of a closed pipe.
  child.stderr.on("data", (chunk) => String(chunk).includes("on port") && listening.resolve());
  child.once("close", () => listening.reject(new Error("server-everything ended before it listened")));
  await listening.promise;
  return port;
}

describe("server-everything", () => {
  async function entries(transport: "stdio" | "sse" | "streamableHttp"): Promise<Entries> {
    switch (transport) {
      case "stdio":
        return {
          everything: {
            command: "node",
            args: [entryPoint("server-everything")],
            sandbox: { read: [repository] },
          },
        };
      case "sse":
        return { everything: { url: `http://127.0.0.1:${await serveEverything("sse")}/sse`, type: "sse" } };
      case "streamableHttp":
        return { everything: { url: `http://127.0.0.1:${await serveEverything("streamableHttp")}/mcp` } };
    }
  }

  test.for(["stdio", "sse", "streamableHttp"] as const)("works over %s", async (transport) => {
    const pool = await poolOf(await entries(transport));
    const tools = await listTools(pool);
    expect(tools.length).toBeGreaterThan(8);
    expect(tools.map(describeTool).every(({ schema }) => schema["type"] === "object")).toBe(true);

    expect(await run(await toolNamed(pool, "everything__get-sum"), { a: 2, b: 40 })).toMatchObject({
      status: "ok",
      text: expect.stringContaining("42"),
    });
    const image = await run(await toolNamed(pool, "everything__get-tiny-image"));
    expect(image.images).toMatchObject([{ mediaType: "image/png" }]);
    const weather = await run(await toolNamed(pool, "everything__get-structured-content"), {
      location: "Chicago",
    });
    expect(JSON.parse(weather.text)).toMatchObject({ temperature: expect.any(Number) });
    const wrong = await run(await toolNamed(pool, "everything__get-sum"), { a: "two" });
    expect(wrong).toMatchObject({ status: "error", text: expect.stringMatching(/number/) });

    const chunks: string[] = [];
    const long = await toolNamed(pool, "everything__trigger-long-running-operation");
    await run(long, { duration: 0.2, steps: 2 }, { output: (chunk) => chunks.push(chunk) });
    expect(chunks[0]).toBe("1/2\n");
  });
});

test("server-memory remembers between two pools", async () => {
  const folder = sharedFolder();
  const memory = {
    command: "node",
    args: [entryPoint("server-memory")],
    env: { MEMORY_FILE_PATH: join(folder, "memory.jsonl") },
    sandbox: { read: [repository], write: [folder] },
  };
  const entity = { name: "Kettle", entityType: "thing", observations: ["is in the kitchen"] };
  const first = await poolOf({ memory });
  const created = await run(await toolNamed(first, "memory__create_entities"), { entities: [entity] });
  expect(created.status).toBe("ok");
  await first.close();
  const graph = await run(await toolNamed(await poolOf({ memory }), "memory__read_graph"));
  expect(JSON.parse(graph.text)).toMatchObject({ entities: [entity] });
});
