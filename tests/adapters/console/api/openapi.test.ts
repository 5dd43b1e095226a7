import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, test } from "vitest";
import { z } from "zod";
import { routes } from "../../../../src/adapters/console/api/api.ts";
import { describeApi } from "../../../../src/adapters/console/api/openapi.ts";
import { call, checked } from "../requests.ts";
import { begin, call as toolCall, calling, end, resultOf, usageOf, write } from "../sessions.ts";
import { startConsole } from "../start-console.ts";

const described = z
  .object({
    openapi: z.literal("3.1.1"),
    components: z.object({ schemas: z.record(z.string(), z.unknown()) }),
    paths: z.record(
      z.string(),
      z.record(
        z.string(),
        z.looseObject({ operationId: z.string(), responses: z.record(z.string(), z.unknown()) }),
      ),
    ),
  })
  .parse(describeApi(routes));

test("the description has every address, each with a name of its own and an answer", () => {
  const operations = Object.values(described.paths).flatMap((path) => Object.values(path));
  expect(operations).toHaveLength(routes.length);
  expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(routes.length);
  for (const { responses } of operations)
    expect(Object.keys(responses)).toEqual([expect.stringMatching(/^20[014]$/), "default"]);
});

test("its schemas are JSON Schema 2020-12, as OpenAPI 3.1 wants them", () => {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, validateFormats: false });
  const schemas: object[] = [];
  const collect = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [name, inner] of Object.entries(value)) {
      if (name === "schema" && typeof inner === "object" && inner !== null) schemas.push(inner);
      else collect(inner);
    }
  };
  collect(described.paths);
  expect(schemas.length).toBeGreaterThan(routes.length);
  ajv.addKeyword("components");
  const { components } = described;
  for (const schema of schemas) expect(() => ajv.compile({ ...schema, components })).not.toThrow();
  expect(Object.keys(components.schemas)).toContain("TimelineEntry");
});

test("a route that takes JSON says what it takes", () => {
  const without = routes.filter(
    ({ method, path, body }) => method === "POST" && !/\/session(?:\/end)?$/.test(path) && !body,
  );
  expect(without).toEqual([]);
});

test("it is served as it is", async () => {
  await using console = await startConsole();
  expect((await call(console.url, "/api/v1/openapi.json")).json()).toEqual(
    JSON.parse(JSON.stringify(describeApi(routes))),
  );
});

test("every answer in JSON that reads something is what is said of it", async () => {
  await using console = await startConsole();
  const client = console.redis.client();
  const thread = "local:console:main:abcdefgh1234";
  await write(client, thread, "Paint the fence");
  const lease = await begin(client, thread);
  const parts = [{ type: "text" as const, text: "Which?" }, toolCall("c1", "bash", { command: "ls" })];
  await lease.append([calling(1, parts), resultOf("c1", "bash", "fence.txt")]);
  await end(lease, { kind: "answered", text: "Done.", steps: 1, usage: usageOf(0.5) });
  await write(client, thread, "And the gate");
  console.workspace.set("a.txt", "a");
  const queries: Record<string, string> = {
    ...{ "/search": "?words=fence", "/sessions/:thread/search": "?query=fence" },
    ...{ "/sessions/:thread/calls": "?turn=t1", "/sessions/:thread/spans": "?turn=t1" },
  };
  const query = (path: string) => queries[path.replace("/api/v1", "")] ?? "";
  const reading = routes.filter(({ method, answers }) => method === "GET" && answers instanceof z.ZodType);
  for (const { path } of reading) {
    const address = path.replace(":thread", thread).replace(":call", "2.0");
    const answer = await call(console.url, `${address}${query(path)}`);
    expect([path, answer.status]).toEqual([path, 200]);
    expect(checked).toContain(`GET ${path}`);
    const head = await call(console.url, `${address}${query(path)}`, { method: "HEAD" });
    expect([path, head.status, head.body, head.headers["content-type"]]).toEqual([
      ...[path, 200, "", "application/json"],
    ]);
  }
});

test("HEAD of a stream, of a file and of an export ends, does nothing, and says what GET would", async () => {
  await using console = await startConsole();
  const client = console.redis.client();
  const thread = "slack:T1:C1:9.5";
  await write(client, thread, "Paint the fence");
  console.workspace.set("a.txt", "four");
  const head = (path: string, headers = {}) =>
    call(console.url, `/api/v1${path}`, { method: "HEAD", headers });
  const streams = routes.filter(({ answers }) => typeof answers === "object" && "events" in answers);
  expect(streams.length).toBeGreaterThan(3);
  for (const { path } of streams) {
    const answer = await call(console.url, path.replace(":thread", thread), { method: "HEAD" });
    expect([path, answer.status, answer.headers["content-type"]]).toEqual([path, 200, "text/event-stream"]);
  }
  const file = await head(`/threads/${thread}/file?path=a.txt`);
  expect([file.status, file.headers["content-length"], file.body]).toEqual([200, "4", ""]);
  const saved = await head(`/sessions/${thread}/export?format=json`);
  expect([saved.status, saved.headers["content-disposition"]]).toEqual([
    ...[200, 'attachment; filename="slack_T1_C1_9.5.json"'],
  ]);
  expect(console.audited).toEqual([]);
  expect((await head("/sessions/slack:T1:C1:none/timeline")).status).toBe(404);
  // What changes something is no reading.
  expect((await head(`/sessions/${thread}/delete`)).status).toBe(404);
});

test("HEAD tells as little as GET without the token", async () => {
  await using console = await startConsole({ token: "correct-horse-battery" });
  for (const { method, path } of routes) {
    if (method !== "GET") continue;
    const answer = await call(console.url, path.replaceAll(/:\w+/g, "abcdefgh1234"), { method: "HEAD" });
    expect([path, answer.status]).toEqual([path, 401]);
  }
  expect((await call(console.url, "/metrics", { method: "HEAD" })).status).toBe(401);
});
