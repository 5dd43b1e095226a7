import { describe, expect, test } from "vitest";
import type { McpConfig, McpServer } from "../../../src/agent/mcp/config.ts";
import { createServerPools } from "../../../src/app/mcp/server-pools.ts";
import { plainPool } from "../../agent/mcp/plain-pool.ts";

const timeouts = { connectMs: 1, executeMs: 1, readMs: 1 };

const configOf = (...servers: [name: string, url: string][]): McpConfig => ({
  secrets: [],
  servers: servers.map(
    ([name, url]): McpServer => ({
      ...{ state: "enabled", name, timeouts: {}, trust: false, always: false },
      endpoint: { kind: "http", url: new URL(url), headers: {} },
    }),
  ),
});

function pools() {
  const done: string[] = [];
  const made = createServerPools({
    async openPool({ servers: [server] }) {
      const name = `${server?.name} ${server && "endpoint" in server && "url" in server.endpoint ? server.endpoint.url.pathname : ""}`;
      done.push(`open ${name}`);
      return { ...plainPool(), close: async () => void done.push(`close ${name}`) };
    },
    onError(error) {
      throw error;
    },
  });
  return { ...made, done };
}

describe("MCP servers of a configuration that changes", () => {
  test("only the one that has changed is ended and started", async () => {
    const { open, replace, done } = pools();
    await open(configOf(["a", "https://h/1"], ["b", "https://h/1"]), timeouts);
    const second = await open(configOf(["a", "https://h/1"], ["b", "https://h/2"]), timeouts);
    replace(second);
    expect(done).toEqual(["open a /1", "open b /1", "open b /2", "close b /1"]);
  });

  test("a turn that has begun keeps its servers until its end", async () => {
    const { open, replace, done } = pools();
    const first = await open(configOf(["a", "https://h/1"]), timeouts);
    const release = first.hold();
    replace(await open(configOf(), timeouts));
    expect(done).toEqual(["open a /1"]);
    release();
    expect(done).toEqual(["open a /1", "close a /1"]);
  });

  test("one that comes back while a turn still has it goes on", async () => {
    const { open, replace, close, done } = pools();
    const first = await open(configOf(["a", "https://h/1"]), timeouts);
    const release = first.hold();
    replace(await open(configOf(), timeouts));
    replace(await open(configOf(["a", "https://h/1"]), timeouts));
    release();
    expect(done).toEqual(["open a /1"]);
    await close();
    expect(done).toEqual(["open a /1", "close a /1"]);
  });

  test("one that comes back goes on, although its last turn ends before the change is in force", async () => {
    const { open, replace, done } = pools();
    const first = await open(configOf(["a", "https://h/1"]), timeouts);
    const release = first.hold();
    replace(await open(configOf(), timeouts));
    const again = await open(configOf(["a", "https://h/1"]), timeouts);
    release();
    replace(again);
    expect(done).toEqual(["open a /1"]);
  });

  test("one of a change that was refused is ended with the next that is not", async () => {
    const { open, replace, done } = pools();
    await open(configOf(["a", "https://h/1"]), timeouts);
    replace(await open(configOf(["b", "https://h/1"]), timeouts));
    expect(done).toEqual(["open a /1", "open b /1", "close a /1"]);
  });
});
