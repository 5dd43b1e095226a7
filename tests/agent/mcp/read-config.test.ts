import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { McpConfigError, type McpServer } from "../../../src/agent/mcp/config.ts";
import { parseMcpConfig, readMcpConfig } from "../../../src/agent/mcp/read-config.ts";

function parse(entry: unknown, env: Record<string, string> = {}): McpServer {
  const [server] = parseMcpConfig(JSON.stringify({ mcpServers: { one: entry } }), env).servers;
  if (!server) throw new Error("no server was parsed");
  return server;
}

function problemOf(entry: unknown, env: Record<string, string> = {}): string {
  const server = parse(entry, env);
  return server.state === "invalid" ? server.problem : `not invalid but ${server.state}`;
}

function endpointOf(entry: unknown, env: Record<string, string> = {}): unknown {
  const server = parse(entry, env);
  return server.state === "enabled" ? server.endpoint : server;
}

const url = "http://127.0.0.1:1/mcp";

describe("the kind of a server", () => {
  test.for([
    [{ url }, "http"],
    [{ url, type: "SSE" }, "sse"],
    [{ url, type: "http" }, "http"],
    [{ url, type: "streamable_http" }, "http"],
    [{ url, type: "streamable-http" }, "http"],
    [{ url, type: "StreamableHttp" }, "http"],
    [{ url, type: "unknown" }, "http"],
    [{ command: "x" }, "stdio"],
    [{ command: "x", type: "STDIO" }, "stdio"],
    [{ command: "x", type: "unknown" }, "stdio"],
  ] as const)("%j is %s", ([entry, kind]) => {
    expect(endpointOf(entry)).toMatchObject({ kind });
  });

  test("without command and url there is nothing to start, and the reason says so", () => {
    expect(problemOf({})).toBe("It has neither a command nor a url; give one of them.");
  });

  test("a url that is not http is refused", () => {
    expect(problemOf({ url: "file:///etc/passwd" })).toContain("not an http or https address");
  });
});

describe("entries that do not run", () => {
  test("a disabled one is kept as such, whatever else it says", () => {
    expect(parse({ disabled: true, command: 7 })).toEqual({ state: "disabled", name: "one" });
  });

  test("a faulty one names its faults and leaves the others alone", () => {
    const text = JSON.stringify({
      mcpServers: { bad: { command: ["x"], args: "y" }, good: { command: "x" } },
    });
    const [bad, good] = parseMcpConfig(text, {}).servers;
    expect(bad).toMatchObject({ state: "invalid", problem: expect.stringMatching(/command: .*; args: /) });
    expect(good).toMatchObject({ state: "enabled", name: "good" });
  });

  test.for([0, -1, 86_401, "10"])("a time-out of %j s is invalid, not unset", (value) => {
    expect(problemOf({ command: "x", execute_timeout: value })).toMatch(/^execute_timeout: /);
  });
});

describe("the sandbox of a command", () => {
  const accessOf = (sandbox?: unknown) =>
    endpointOf({ command: "x", ...(sandbox !== undefined && { sandbox }) });

  test("has nothing of the host unless the entry names it", () => {
    expect(accessOf()).toMatchObject({ access: { read: [], write: [], network: [] } });
    expect(accessOf({ network: "host" })).toMatchObject({ access: { read: [], write: [], network: "host" } });
  });

  test("is left out only where the entry says false", () => {
    expect(accessOf(false)).toMatchObject({ access: "none" });
    for (const odd of [true, null, "off", 0]) {
      expect(problemOf({ command: "x", sandbox: odd })).toMatch(
        /^sandbox: expected false or an object such as/,
      );
    }
  });

  test.for([
    [{ reads: ["/srv"] }, /reads/],
    [{ read: ["srv"] }, /^sandbox: srv is not an absolute path, for example \/srv\/docs\.$/],
    [{ network: ["https://example.com"] }, /^sandbox\.network: https:\/\/example\.com is not a host/],
    [{ network: ["*"] }, /is not a host/],
    [{ network: "all" }, /expected a list of hosts such as \["api\.example\.com"\], or "host"/],
  ] as const)("%j is refused, so that nothing is silently missing", ([sandbox, problem]) => {
    expect(problemOf({ command: "x", sandbox })).toMatch(problem);
  });
});

test("time-outs are given in seconds and only those that are given are set", () => {
  const entry = { command: "x", connect_timeout: 0.5, sse_read_timeout: 300 };
  expect(parse(entry)).toMatchObject({ timeouts: { connectMs: 500, readMs: 300_000 } });
});

describe("references to the environment", () => {
  const env = { TOKEN: "tok-12345678", HOST: "example.com", EMPTY: "" };

  test("are replaced in command, arguments, variables and folder", () => {
    const entry = {
      command: "${HOST}/run",
      args: ["--host=${HOST}", "${PORT:-80}", "$HOME", "${EMPTY:-full}"],
      env: { API_TOKEN: "${TOKEN}", LEVEL: 3 },
      cwd: "/srv/${HOST}",
      sandbox: { read: ["/srv/${HOST}"], network: ["api.${HOST}"] },
    };
    expect(endpointOf(entry, env)).toEqual({
      kind: "stdio",
      access: { read: ["/srv/example.com"], write: [], network: ["api.example.com"] },
      command: "example.com/run",
      args: ["--host=example.com", "80", "$HOME", "full"],
      env: { API_TOKEN: "tok-12345678", LEVEL: "3" },
      cwd: "/srv/example.com",
    });
  });

  test("are replaced in url and headers", () => {
    const entry = { url: "https://${HOST}/mcp?k=${EMPTY}", headers: { Authorization: "Bearer ${TOKEN}" } };
    expect(endpointOf(entry, env)).toEqual({
      kind: "http",
      url: new URL("https://example.com/mcp?k="),
      headers: { Authorization: "Bearer tok-12345678" },
    });
  });

  test("that nothing answers make the entry invalid", () => {
    const problem = problemOf({ command: "x", env: { A: "${NOWHERE}", B: "${NOR_HERE}" } }, env);
    expect(problem).toBe(
      "The environment has no NOWHERE, NOR_HERE; set it, or give a default as in ${NAME:-default}.",
    );
  });

  test("tell which values are secrets, by the names of variables and headers and in addresses", () => {
    const entries = {
      a: { command: "x", args: ["${DB_PASSWORD}"], env: { LOG: "production", OTHER_KEY: "literal-key" } },
      c: { command: "x", args: ["--db=${DATABASE}"] },
      b: { url, headers: { Authorization: "Bearer abcdefgh", "X-Team": "kitchen-team" } },
    };
    const text = JSON.stringify({ mcpServers: entries });
    const { secrets } = parseMcpConfig(text, {
      DB_PASSWORD: "hunter2hunter2",
      DATABASE: "postgres://app:swordf%21sh@localhost/db",
    });
    expect(secrets.toSorted()).toEqual([
      ...["abcdefgh", "hunter2hunter2", "literal-key", "swordf!sh", "swordf%21sh"],
    ]);
  });
});

test.each(["SMTP_PASS", "GITHUB_PAT", "ADO_PAT_WORK", "DB_PWD", "x-pat", "PASS"])(
  "What %s holds is a secret",
  (name) => {
    const text = JSON.stringify({ mcpServers: { a: { command: "x", env: { [name]: "swordfish-1" } } } });
    expect(parseMcpConfig(text, {}).secrets).toEqual(["swordfish-1"]);
  },
);

test("A key in an address is a secret, and what else stands there is none", () => {
  const keyed = "https://search.example/mcp?searchApiKey=swordfish-1&language=english-us";
  const text = JSON.stringify({ mcpServers: { a: { url: keyed } } });
  expect(parseMcpConfig(text, {}).secrets).toEqual(["swordfish-1"]);
});

test.each(["PWD", "PATH", "COMPASS_HOST", "PATTERN", "AUTHOR"])("What %s holds is none", (name) => {
  const text = JSON.stringify({ mcpServers: { a: { command: "x", args: [`\${${name}}`] } } });
  expect(parseMcpConfig(text, { [name]: "/srv/handbook" }).secrets).toEqual([]);
});

describe("the file", () => {
  function fileWith(content: string): string {
    const folder = mkdtempSync(join(tmpdir(), "heddle-mcp-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, "mcp.json"), content);
    return join(folder, "mcp.json");
  }

  test("may be absent: then there are no servers", async () => {
    expect(await readMcpConfig(`${fileWith("{}")}.absent`, {})).toEqual({ servers: [], secrets: [] });
  });

  test("that is not JSON is refused without quoting it, because it may hold keys", async () => {
    const path = fileWith('{"mcpServers": {"a": {"env": {"KEY": "sk-very-secret" "b"');
    const refusal = await readMcpConfig(path, {}).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(McpConfigError);
    expect(String(refusal)).toContain(`${path}: it is not JSON`);
    expect(String(refusal)).not.toContain("sk-very");
  });

  test("that is a folder is refused in one sentence", async () => {
    const path = dirname(fileWith("{}"));
    const sentence = `${path} is a folder; put the file in its place.`;
    await expect(readMcpConfig(path, {})).rejects.toThrow(new McpConfigError(sentence));
  });

  test("of another shape is refused with an example", async () => {
    await expect(readMcpConfig(fileWith('{"servers": []}'), {})).rejects.toThrow(/expected an object like/);
  });
});

describe("whose accounts a server takes", () => {
  test("is the installation's, or each person's where the entry says so", () => {
    expect(endpointOf({ url, signIn: true })).toMatchObject({ signIn: {} });
    expect(
      endpointOf({ url, signIn: { accounts: "person", clientId: "${ID}" } }, { ID: "heddle" }),
    ).toMatchObject({ signIn: { accounts: "person", clientId: "heddle" } });
    expect(problemOf({ url, signIn: { accounts: "everybody" } })).toContain("signIn");
  });

  test("cannot be each person's where its tools are sent with every request, which all people share", () => {
    const problem = problemOf({ url, always: true, signIn: { accounts: "person" } });
    expect(problem).toContain('"always" does not go with accounts of persons');
    expect(parse({ url, always: true, signIn: true }).state).toBe("enabled");
  });
});
