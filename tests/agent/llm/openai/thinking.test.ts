import { describe, expect, test } from "vitest";
import { assistantMessageSchema } from "../../../../src/agent/journal/schemas.ts";
import { textOf } from "../../../../src/agent/messages.ts";
import { answered, ask, called, chunks, fake, model, redirectedTo, user } from "./run.ts";

describe("thinking in a chat completion", () => {
  test.each(["reasoning_content", "reasoning", "reasoning_details", "think"] as const)(
    "in %s is shown and goes back as it came",
    async (thinkingIn) => {
      const thinking = "First I look.\n  Then </thin I act 🙂. ";
      const reply = { thinking, thinkingIn, text: "Looking.", calls: [{ name: "bash" }] };
      const server = await fake({ replies: [{ ...reply, deltaSize: 2 }, reply, { text: "done" }] });
      const m = model("chat", server);
      const messages = [user("x")];
      for (const step of [1, 2]) {
        const said = await ask(m, messages);
        expect([step, said.thinking, said.text]).toEqual([step, thinking, "Looking."]);
        messages.push(...answered(said.message));
      }
      // The fake refuses a call without the thinking that it came with.
      expect(textOf((await ask(m, messages)).message)).toBe("done");
    },
  );

  test("of another model stays behind, its text and calls do not", async () => {
    const server = await fake({
      replies: [{ thinking: "secret plan", text: "I do.", calls: [{ id: "old", name: "bash" }] }],
    });
    const { message } = await ask(model("chat", server, { model: "old" }), [user("x")]);
    const other = await fake({ replies: [{ text: "ok" }] });
    await ask(model("chat", other), [user("x"), ...answered(message)]);
    expect(other.requests[0]?.rawBody).not.toContain("secret plan");
    expect(other.chats[0]?.messages[2]).toMatchObject({ content: "I do.", tool_calls: [{ id: "old" }] });
  });

  test("signed beside a call, as by Gemini, goes back with it to the same model only", async () => {
    const extra = { google: { thought_signature: "c2lnbmVk" } };
    const reply = {
      calls: [
        { id: "c1", name: "bash", extra },
        { id: "c2", name: "bash" },
      ],
    };
    const server = await fake({ replies: [reply, { text: "done" }] });
    const m = model("chat", server);
    const { message } = await ask(m, [user("x")]);
    const stored = assistantMessageSchema.parse(JSON.parse(JSON.stringify(message)));
    // The fake refuses a call without the signature that it came with.
    expect(textOf((await ask(m, [user("x"), ...answered(stored)])).message)).toBe("done");
    const other = await fake({ replies: [{ text: "ok" }] });
    await ask(model("chat", other, { model: "other" }), [user("x"), ...answered(stored)]);
    expect(other.requests[0]?.rawBody).not.toContain("thought_signature");
  });

  test("is signed by a stand-in where Gemini goes on with what another model has called", async () => {
    const calls = [
      { id: "c1", name: "bash" },
      { id: "c2", name: "bash" },
    ];
    const before = await fake({ replies: [{ calls }] });
    const { message } = await ask(model("chat", before, { model: "old" }), [user("x")]);
    const extra = { google: { thought_signature: "c2lnbmVk" } };
    const server = await fake({
      dialect: "gemini",
      replies: [{ calls: [{ id: "c3", name: "bash", extra }] }, { text: "done" }],
    });
    const m = model("chat", server);
    const messages = [user("x"), ...answered(message)];
    const own = await ask(m, messages);
    messages.push(...answered(own.message));
    expect(textOf((await ask(m, messages)).message)).toBe("done");
    const standIn = { google: { thought_signature: "skip_thought_signature_validator" } };
    const sent = server.chats
      .at(-1)
      ?.messages.flatMap((one) => (one.role === "assistant" ? one.tool_calls : []));
    expect(sent?.map((call) => [call?.id, call?.extra_content])).toEqual([
      ["c1", standIn],
      ["c2", undefined],
      ["c3", extra],
    ]);
    // One refusal has taught it.
    expect(server.requests.map(({ rawBody }) => rawBody.includes("skip_thought"))).toEqual([
      false,
      true,
      true,
    ]);
  });

  test("has a stand-in where DeepSeek goes on without what was thought before a call", async () => {
    const before = await fake({ replies: [{ calls: [{ id: "c1", name: "bash" }] }] });
    const { message } = await ask(model("chat", before, { model: "old" }), [user("x")]);
    const server = await fake({
      dialect: "deepseek",
      replies: [{ thinking: "Next.", calls: [{ id: "c2", name: "bash" }] }, { text: "done" }],
    });
    const m = model("chat", server);
    // As it stands behind a summary: without its thinking.
    const messages = [user("x"), ...answered({ ...message, model: m.id })];
    const own = await ask(m, messages);
    messages.push(...answered(own.message));
    expect(textOf((await ask(m, messages)).message)).toBe("done");
    const sent = server.chats.at(-1)?.messages.filter((one) => one.role === "assistant");
    expect(sent?.map((one) => one.reasoning_content)).toEqual([" ", "Next."]);
    // One refusal has taught it.
    expect(server.requests).toHaveLength(3);
  });

  test("that is empty goes back beside a call, because DeepSeek wants it", async () => {
    const server = await fake({
      replies: [chunks({ reasoning_content: "" }, called("bash", "{}", { id: "c1" })), { text: "ok" }],
    });
    const m = model("chat", server);
    const { message } = await ask(m, [user("x")]);
    await ask(m, [user("x"), ...answered(message)]);
    expect(server.chats[1]?.messages[2]).toMatchObject({ reasoning_content: "" });
  });

  test("that comes in several fields at once is shown once and goes back in all of them", async () => {
    const both = (text: string) => ({ reasoning: text, reasoning_content: text });
    const server = await fake({
      replies: [chunks(both("a "), both("b"), called("bash", "{}", { id: "c1" })), { text: "ok" }],
    });
    const m = model("chat", server);
    const { message, thinking } = await ask(m, [user("x")]);
    expect(thinking).toBe("a b");
    await ask(m, [user("x"), ...answered(message)]);
    expect(server.chats[1]?.messages[2]).toMatchObject(both("a b"));
  });

  test("in several details is put together by index, type and id", async () => {
    const detail = (index: number, rest: object) => ({
      reasoning_details: [{ type: "reasoning.text", index, ...rest }],
    });
    const encrypted = { type: "reasoning.encrypted", index: 1, id: "e1", data: "AAAA" };
    const server = await fake({
      replies: [
        chunks(
          detail(0, { text: "one ", signature: null }),
          detail(1, { text: "two " }),
          detail(0, { text: "more" }),
          detail(0, { signature: "sig" }),
          { reasoning_details: [encrypted, { ...encrypted, id: "e2", data: "BBBB" }] },
          called("bash", "{}", { id: "c1" }),
        ),
        { text: "ok" },
      ],
    });
    const m = model("chat", server);
    const { message } = await ask(m, [user("x")]);
    await ask(m, [user("x"), ...answered(message)]);
    expect(server.chats[1]?.messages[2]).toMatchObject({
      reasoning_details: [
        { type: "reasoning.text", index: 0, text: "one more", signature: "sig" },
        { type: "reasoning.text", index: 1, text: "two " },
        encrypted,
        { ...encrypted, id: "e2", data: "BBBB" },
      ],
    });
  });

  test.each([
    ["pieces", ["I ", "I think", " so"], "I I think so"],
    ["snapshots", ["I ", "I think", "I think so"], "I think so"],
  ])("of MiniMax is understood in %s", async (_case, texts, expected) => {
    const part = (text: string) => ({ reasoning_details: [{ type: "reasoning.text", index: 0, text }] });
    const server = await fake({
      dialect: "minimax",
      replies: [chunks(...texts.map(part), { content: "yes" })],
    });
    const minimax = { baseUrl: "https://api.minimaxi.com/v1", fetch: redirectedTo(server) };
    const { message } = await ask(model("chat", server, minimax), [user("x")]);
    expect(message.parts[0]).toMatchObject({ raw: { reasoning_details: [{ text: expected }] } });
  });
});
