import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createAnthropicModel } from "../../../../src/agent/llm/anthropic/anthropic.ts";
import { createRequestBuilder } from "../../../../src/agent/llm/anthropic/request.ts";
import {
  type AssistantMessage,
  type AssistantPart,
  type Message,
  toolCalls,
  type ToolMessage,
  type UserMessage,
} from "../../../../src/agent/messages.ts";
import { toWellFormed } from "../../../../src/agent/text/text.ts";
import { parseBody, refusalOf, type Turn, turnsOf } from "../../../fakes/anthropic-rules.ts";
import { type FakeBlock, startFakeAnthropic } from "../../../fakes/anthropic.ts";

const own = "anthropic/claude-sonnet-5-5";
const service = { contextTokens: 10_000_000, maxOutputTokens: 128_000, adaptiveThinking: true };
const style = {
  model: "claude-sonnet-5-5",
  id: own,
  limits: { contextTokens: 1_000_000, maxOutputTokens: 128_000, images: true },
  adaptiveThinking: true,
  forgets: () => false,
};

/** Text as people and models write it: blank, with line breaks, with lone surrogates. */
const text = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom("", " ", "\n\n", "ok", "👀 done", "half \ud83d", "\udc40"),
);
const image = fc.record({ mediaType: fc.constant("image/png" as const), data: fc.constant("iVBORw0KGgo=") });
const images = fc.array(image, { maxLength: 2 });

const user: fc.Arbitrary<UserMessage> = fc.record({
  role: fc.constant("user" as const),
  id: fc.uuid(),
  author: fc.record({ id: fc.constantFrom("U1", "U2", "heddle"), name: text }),
  text,
  images,
  at: fc.nat(),
});

const thinking: fc.Arbitrary<AssistantPart> = fc.oneof(
  fc.record({ thinking: text, signature: fc.base64String({ minLength: 4 }) }).map((raw) => ({
    type: "thinking" as const,
    text: raw.thinking,
    protocol: "anthropic" as const,
    raw: { type: "thinking", ...raw },
  })),
  fc.base64String({ minLength: 4 }).map((data) => ({
    type: "thinking" as const,
    text: "",
    protocol: "anthropic" as const,
    raw: { type: "redacted_thinking", data },
  })),
  fc
    .jsonValue()
    .map((raw) => ({ type: "thinking" as const, text: "hm", protocol: "openai-chat" as const, raw })),
);

const call: fc.Arbitrary<AssistantPart> = fc
  .record({
    // Other services have ids of other shapes, and use them again in later steps.
    id: fc.oneof(
      fc.constantFrom("call_0", "call_1", "functions.bash:0", "fc|é"),
      fc.string({ minLength: 1 }),
    ),
    name: fc.oneof(fc.constantFrom("bash", "read_file"), fc.string()),
    input: fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue()),
  })
  .map((made) => ({ type: "tool-call" as const, call: made }));

const parts = fc
  .array(
    fc.oneof(
      thinking,
      text.map((said) => ({ type: "text" as const, text: said })),
      call,
    ),
    { minLength: 1, maxLength: 6 },
  )
  // Within one message the ids differ.
  .filter((list) => {
    const ids = list.flatMap((part) => (part.type === "tool-call" ? [part.call.id] : []));
    return new Set(ids).size === ids.length;
  });

const assistant: fc.Arbitrary<AssistantMessage> = fc.record({
  role: fc.constant("assistant" as const),
  id: fc.uuid(),
  parts,
  model: fc.constantFrom(own, "openai/gpt-6-astra", "anthropic/claude-opus-5-5"),
  stop: fc.constantFrom("end" as const, "tool-calls" as const, "max-tokens" as const),
});

const outcome = fc.record({
  status: fc.constantFrom(
    "ok" as const,
    "error" as const,
    "partial" as const,
    "stopped" as const,
    "unknown" as const,
  ),
  text,
  images,
});

/** An assistant's message with the result of each call, or what people and compaction add. */
const exchange: fc.Arbitrary<Message[]> = fc.oneof(
  user.map((message) => [message]),
  text.map((summary) => [{ role: "summary" as const, text: summary }]),
  fc.tuple(assistant, fc.array(outcome, { minLength: 6, maxLength: 6 })).map(([message, outcomes]) => [
    message,
    ...toolCalls(message).map(({ id, name }, index): ToolMessage => {
      return { role: "tool", callId: id, name, ...(outcomes[index] ?? { status: "ok", text: "" }) };
    }),
  ]),
);

const history = fc
  .tuple(user, fc.array(exchange, { maxLength: 8 }))
  .map(([first, exchanges]): Message[] => [first, ...exchanges.flat()]);

const tools = [{ name: "bash", description: "Runs a command.", schema: { type: "object", properties: {} } }];

function sent(messages: readonly Message[], more: { images?: boolean } = {}): Turn[] {
  return accepted(createRequestBuilder({ ...style, limits: { ...style.limits, ...more } }), messages);
}

/** The turns of a request that the service takes. */
function accepted(
  wireRequest: ReturnType<typeof createRequestBuilder>,
  messages: readonly Message[],
): Turn[] {
  const wire: unknown = JSON.parse(
    JSON.stringify(wireRequest({ system: "You are Heddle.", messages, tools })),
  );
  const parsed = parseBody(wire);
  if (!parsed.ok) throw new Error(parsed.refusal.message);
  expect(refusalOf(parsed.body, service)).toBeUndefined();
  return turnsOf(parsed.body);
}

describe("wireRequests", () => {
  test("maps any legal history to a request that the service accepts", () => {
    fc.assert(
      fc.property(history, (messages) => {
        sent(messages);
      }),
      { numRuns: 300 },
    );
  });

  test("returns the model's own thinking, in order, and no other, but for what nothing follows", () => {
    fc.assert(
      fc.property(history, (messages) => {
        const expected = messages.flatMap((message) =>
          message.role === "assistant" && message.model === own
            ? message.parts
                .slice(0, message.parts.findLastIndex(isSpoken) + 1)
                .flatMap((part) =>
                  part.type === "thinking" && part.protocol === "anthropic" ? [part.raw] : [],
                )
            : [],
        );
        const returned = sent(messages).flatMap(({ content }) =>
          content.filter(({ type }) => type.includes("thinking")),
        );
        expect(returned).toEqual(JSON.parse(JSON.stringify(toWellFormed(expected))));
      }),
    );
  });

  test("answers every call once, and keeps the order of calls and words", () => {
    fc.assert(
      fc.property(history, (messages) => {
        const turns = sent(messages);
        const blocks = turns.flatMap(({ content }) => content);
        const said = turns.flatMap(({ role, content }) =>
          role === "assistant" ? content.flatMap((block) => (block.type === "text" ? [block.text] : [])) : [],
        );
        const calls = messages.flatMap((message) => (message.role === "assistant" ? toolCalls(message) : []));
        expect(blocks.filter(({ type }) => type === "tool_use")).toHaveLength(calls.length);
        expect(blocks.filter(({ type }) => type === "tool_result")).toHaveLength(calls.length);
        expect(said).toEqual(
          messages.flatMap((message) =>
            message.role === "assistant"
              ? message.parts.flatMap((part) =>
                  part.type === "text" && part.text.trim() !== "" ? [part.text.toWellFormed()] : [],
                )
              : [],
          ),
        );
      }),
    );
  });

  test("sends no image to a model that sees none", () => {
    fc.assert(
      fc.property(history, (messages) => {
        expect(JSON.stringify(sent(messages, { images: false }))).not.toContain('"type":"image"');
      }),
    );
  });

  test("a longer history only adds to the turns of a shorter one", () => {
    fc.assert(
      fc.property(history, user, (messages, next) => {
        const unmarked = (turns: Turn[]) =>
          turns.flatMap(({ role, content }) =>
            content.map((block) => JSON.stringify([role, { ...block, cache_control: undefined }])),
          );
        const before = unmarked(sent([...messages, next]));
        const after = unmarked(sent([...messages, next, { ...next, id: "later" }]));
        expect(after.slice(0, before.length)).toEqual(before);
      }),
    );
  });

  test("tells a history that grows like one that was there at once", () => {
    fc.assert(
      fc.property(user, fc.array(exchange, { maxLength: 8 }), (first, exchanges) => {
        const wireRequest = createRequestBuilder(style);
        const growing: Message[] = [first];
        for (const messages of exchanges) {
          growing.push(...messages);
          expect(accepted(wireRequest, growing)).toEqual(sent([...growing]));
        }
      }),
    );
  });

  test("reads each message of a history that grows once", () => {
    let reads = 0;
    const first = {
      ...{ role: "user" as const, id: "m1", author: { id: "U1", name: "Ada" }, at: 0 },
      get text() {
        reads += 1;
        return "go";
      },
    };
    const wireRequest = createRequestBuilder(style);
    const growing: Message[] = [first];
    accepted(wireRequest, growing);
    const once = reads;
    growing.push({ ...first, id: "m2", text: "on" });
    reads = 0;
    expect(accepted(wireRequest, growing)[0]?.content).toHaveLength(2);
    expect([once > 0, reads]).toEqual([true, 0]);
  });

  test("asks for no more output than the model gives, and leaves out what is empty", () => {
    const messages = [{ role: "summary" as const, text: "They met." }];
    const options = { toolChoice: "none", maxOutputTokens: 1_000_000 } as const;
    const request = createRequestBuilder(style)({ system: " ", messages, tools: [], ...options });
    expect(request).toEqual({
      model: "claude-sonnet-5-5",
      max_tokens: 128_000,
      stream: true,
      thinking: { type: "adaptive", display: "summarized" },
      messages: [
        {
          role: "user",
          content: [
            {
              type: "text",
              text: '<summary of="earlier conversation">\nThey met.\n</summary>',
              cache_control: { type: "ephemeral" },
            },
          ],
        },
      ],
    });
  });
});

function isSpoken(part: AssistantPart): boolean {
  return part.type === "tool-call" || (part.type === "text" && part.text.trim() !== "");
}

/** The service has signed what stands behind it. */
const whole = text.map((said) => said.toWellFormed());

const block: fc.Arbitrary<FakeBlock> = fc.oneof(
  whole.map((said) => ({ type: "text" as const, text: said })),
  whole.map((thought) => ({ type: "thinking" as const, thinking: thought })),
  fc.constant({ type: "redacted_thinking" as const }),
  fc.record({
    type: fc.constant("tool_use" as const),
    name: fc.constant("bash"),
    input: fc.dictionary(fc.string(), whole),
  }),
  fc.record({ type: fc.constant("tool_use" as const), name: fc.constant("bash"), json: whole }),
);

test("any conversation with the service itself goes on: what it signed comes back as it was", async () => {
  const reply = fc.record({
    content: fc.array(block, { maxLength: 4 }),
    deltaSize: fc.integer({ min: 1, max: 12 }),
    stop: fc.constantFrom("end_turn", "max_tokens", "refusal"),
  });
  const fake = await startFakeAnthropic();
  const retry = { maxRetries: 0, baseMs: 1, capMs: 1, deadlineMs: 10_000, idleMs: 10_000 };
  const model = createAnthropicModel({ ...style, apiKey: "test-key", baseUrl: fake.url, retry });
  try {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(reply, fc.option(user, { freq: 2 }), outcome), { minLength: 2, maxLength: 5 }),
        async (steps) => {
          const messages: Message[] = [{ role: "summary", text: "They met." }];
          const requests = fake.requests.length;
          for (const [answer, next, { status, text: output }] of steps) {
            fake.push(answer);
            if (next) messages.push(next);
            for await (const event of model.stream(
              { system: "s", messages, tools },
              new AbortController().signal,
            )) {
              if (event.type !== "done" || event.message.parts.length === 0) continue;
              // As the journal gives it back.
              messages.push(JSON.parse(JSON.stringify(event.message)));
              messages.push(
                ...toolCalls(event.message).map(
                  ({ id, name }): ToolMessage => ({ role: "tool", callId: id, name, status, text: output }),
                ),
              );
            }
          }
          // One request a step: the service never refused what it had said itself.
          expect(fake.requests.length - requests).toBe(steps.length);
        },
      ),
      { numRuns: 40 },
    );
  } finally {
    await fake.close();
  }
});
