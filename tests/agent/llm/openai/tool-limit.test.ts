import { describe, expect, test } from "vitest";
import type { ToolDefinition } from "../../../../src/agent/model.ts";
import { ask, fake, model, redirectedTo, user } from "./run.ts";

const schema = { type: "object", properties: {} };
const own = ["bash", "read_file", "task"].map((name) => ({ name, description: name, schema }));
const offered = Array.from({ length: 137 }, (_, n): ToolDefinition => {
  return { name: `crm__t${n}`, description: "Of a server.", schema, optional: true };
});
/** Ours stand around those of servers. */
const tools = [...own.slice(0, 2), ...offered, ...own.slice(2)];

describe.each(["chat", "responses"] as const)(
  "140 tools over %s, of which the service takes 128,",
  (protocol) => {
    const sent = (server: Awaited<ReturnType<typeof fake>>) =>
      protocol === "chat"
        ? server.chats.map((body) => body.tools?.map((tool) => tool.function.name) ?? [])
        : server.responses.map((body) => body.tools?.map((tool) => ("name" in tool ? tool.name : "")) ?? []);

    test("go to OpenAI as 128 at once, ours among them, and the model is told of the others", async () => {
      const server = await fake({ dialect: "openai", replies: [{ text: "hi" }] });
      const asked = model(protocol, server, {
        baseUrl: "https://api.openai.com/v1",
        fetch: redirectedTo(server),
      });
      expect((await ask(asked, [user("hi")], { tools })).text).toBe("hi");
      const [names = []] = sent(server);
      expect(names).toHaveLength(128);
      expect(names).toEqual(expect.arrayContaining(["bash", "read_file", "task", "crm__t124"]));
      const told = JSON.stringify(server.chats[0] ?? server.responses[0]);
      expect(told).toContain("takes at most 128 tools");
      expect(told).toContain("crm__t125, crm__t126");
    });

    test("are cut for any other when it refuses them, which is said once", async () => {
      const server = await fake({ replies: [{ text: "hi" }, { text: "hi again" }] });
      const asked = model(protocol, server);
      const first = await ask(asked, [user("hi")], { tools });
      expect(first.retries).toMatchObject([
        { delayMs: 0, reason: expect.stringMatching(/at most 128 tools, .* crm__t125, .*crm__t136\.$/) },
      ]);
      expect((await ask(asked, [user("hi")], { tools })).retries).toEqual([]);
      expect(sent(server).map((names) => names.length)).toEqual([140, 128, 128]);
      expect(sent(server)[1]).toEqual(expect.arrayContaining(own.map(({ name }) => name)));
    });
  },
);

test("A service that takes fewer tools than ours says so, and nothing is left out", async () => {
  const server = await fake({
    replies: [{ status: 400, type: "invalid_request_error", message: "At most 2 tools are supported." }],
  });
  const asked = model("chat", server);
  await expect(ask(asked, [user("hi")], { tools: own })).rejects.toMatchObject({ kind: "invalid-request" });
  expect(server.chats).toHaveLength(1);
});
