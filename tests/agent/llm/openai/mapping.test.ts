import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LanguageModel } from "../../../../src/agent/model.ts";
import { ThinkSplitter } from "../../../../src/agent/llm/openai/think-tags.ts";
import {
  type AssistantMessage,
  type AssistantPart,
  type Image,
  type Message,
  type Protocol,
  textOf,
  toolCalls,
} from "../../../../src/agent/messages.ts";
import type { FakeAnswer } from "../../../fakes/openai.ts";
import { answered, ask, fake, model, user } from "./run.ts";

const protocols = ["chat", "responses"] as const;
const plain = fc.string({ unit: "grapheme", maxLength: 40 });
/** As people and models write them: some have half of a surrogate pair. */
const words = fc.oneof(plain, fc.constantFrom("half \ud83d", "\udc40"));

const image: fc.Arbitrary<Image> = fc.record({
  mediaType: fc.constantFrom("image/png", "image/jpeg", "image/gif", "image/webp"),
  data: fc.uint8Array({ minLength: 1, maxLength: 30 }).map((bytes) => Buffer.from(bytes).toString("base64")),
});
const images = fc.array(image, { maxLength: 2 });

const textPart: fc.Arbitrary<AssistantPart> = words.map((text) => ({ type: "text", text }));

const callPart: fc.Arbitrary<AssistantPart> = fc
  .record({
    id: fc.string({ minLength: 1, maxLength: 80 }),
    name: fc.string({ maxLength: 80 }),
    input: fc.dictionary(words, fc.jsonValue()),
  })
  .map((call) => ({ type: "tool-call", call }));

const reasoning = fc.record(
  { reasoning_content: words, reasoning: words, think: words.map((text) => `<think>${text}</think>\n`) },
  { requiredKeys: [] },
);

function thinkingPart(
  protocol: fc.Arbitrary<Protocol>,
  raw: fc.Arbitrary<unknown>,
): fc.Arbitrary<AssistantPart> {
  return fc.record({ type: fc.constant("thinking" as const), text: words, protocol, raw });
}

/** A reply of this model or of another one, whose thinking may hold anything. */
const reply = fc.oneof(
  fc.record({
    model: fc.constant("openai/m-1"),
    parts: fc.array(fc.oneof(textPart, callPart, thinkingPart(fc.constant("openai-chat"), reasoning)), {
      minLength: 1,
      maxLength: 4,
    }),
  }),
  fc.record({
    model: fc.constant("other/m-1"),
    parts: fc.array(
      fc.oneof(
        textPart,
        callPart,
        thinkingPart(fc.constantFrom("anthropic", "openai-chat", "openai-responses", "demo"), fc.jsonValue()),
      ),
      { minLength: 1, maxLength: 4 },
    ),
  }),
);

const result = fc.record({
  status: fc.constantFrom("ok", "error", "stopped", "unknown"),
  text: words,
  images,
});

/** A legal history: every call has its result right after it, and ids are used once. */
const history: fc.Arbitrary<Message[]> = fc
  .array(
    fc.oneof(
      fc.record({ name: words, text: words, images }),
      fc.record({ reply, results: fc.array(result, { minLength: 4, maxLength: 4 }) }),
    ),
    { minLength: 1, maxLength: 8 },
  )
  .chain((turns) => fc.record({ turns: fc.constant(turns), summary: fc.option(words), last: words }))
  .map(({ turns, summary, last }) => {
    const messages: Message[] = summary === null ? [] : [{ role: "summary", text: summary }];
    for (const [index, turn] of turns.entries()) {
      if ("text" in turn) {
        const { name, text } = turn;
        messages.push({
          role: "user",
          id: `${index}`,
          author: { id: "U", name },
          text,
          images: turn.images,
          at: 0,
        });
        continue;
      }
      const parts = turn.reply.parts.map((part, at) =>
        part.type === "tool-call"
          ? { ...part, call: { ...part.call, id: `${index}.${at}${part.call.id}` } }
          : part,
      );
      const message = {
        role: "assistant" as const,
        id: `${index}`,
        model: turn.reply.model,
        parts,
        stop: "end" as const,
      };
      messages.push(message);
      for (const [at, { id, name }] of toolCalls(message).entries()) {
        messages.push({
          role: "tool",
          callId: id,
          name,
          ...(turn.results[at] ?? { status: "ok", text: "" }),
        });
      }
    }
    return [...messages, user(last)];
  });

const answer: fc.Arbitrary<FakeAnswer> = fc.record(
  {
    thinking: plain.filter((text) => !text.includes("<")),
    thinkingIn: fc.constantFrom("reasoning_content", "reasoning", "reasoning_details", "think"),
    text: plain,
    refusal: plain,
    calls: fc.array(
      fc.record({
        name: fc.string({ maxLength: 10 }),
        json: fc.oneof(
          words,
          fc.dictionary(words, fc.jsonValue()).map((input) => JSON.stringify(input, null, 1)),
        ),
      }),
      { maxLength: 3 },
    ),
    stop: fc.constantFrom("stop", "tool_calls", "length", "content_filter"),
    deltaSize: fc.integer({ min: 1, max: 20 }),
  },
  { requiredKeys: ["deltaSize"] },
);

describe.each(protocols)("over the %s protocol", (protocol) => {
  test("every legal history makes a request that the service accepts", async () => {
    const server = await fake({ replies: () => ({ text: "ok" }) });
    const asked = model(protocol, server);
    await fc.assert(
      fc.asyncProperty(history, words, async (messages, system) => {
        expect((await ask(asked, messages, { system })).text).toBe("ok");
      }),
      { numRuns: 100 },
    );
  });

  test("a history that grows is told like one that was there at once", async () => {
    const server = await fake({ replies: () => ({ text: "ok" }) });
    const told = async (asked: LanguageModel, messages: readonly Message[]) => {
      await ask(asked, messages);
      return server.requests.at(-1)?.body;
    };
    await fc.assert(
      fc.asyncProperty(history, history, async (before, after) => {
        const asked = model(protocol, server);
        const growing = [...before];
        await told(asked, growing);
        growing.push(...after.filter(({ role }) => role === "user"));
        expect(await told(asked, growing)).toEqual(await told(model(protocol, server), [...growing]));
      }),
      { numRuns: 30 },
    );
  });

  test("each message of a history that grows is read once", async () => {
    const server = await fake({ replies: () => ({ text: "ok" }) });
    const asked = model(protocol, server);
    let reads = 0;
    const first: Message = Object.defineProperty(user("first"), "text", {
      get: () => {
        reads += 1;
        return "go";
      },
    });
    const growing = [first];
    await ask(asked, growing);
    const once = reads;
    growing.push(user("second"));
    await ask(asked, growing);
    expect([once > 0, reads - once]).toEqual([true, 0]);
  });

  test("whatever the model says can be said back to it, its thinking as it was", async () => {
    let answers: FakeAnswer[] = [];
    const server = await fake({ replies: () => answers.shift() ?? { text: "understood" } });
    const asked = model(protocol, server);
    await fc.assert(
      fc.asyncProperty(fc.array(answer, { minLength: 1, maxLength: 4 }), async (script) => {
        answers = [...script];
        const messages = [user("go")];
        while (answers.length > 0) {
          const { text, message } = await ask(asked, messages);
          expect(text.trim()).toBe(textOf(message).trim());
          // As the journal gives it back.
          const stored: AssistantMessage = JSON.parse(JSON.stringify(message));
          if (stored.parts.length > 0) messages.push(...answered(stored));
          messages.push(user("next"));
        }
        expect((await ask(asked, messages)).text).toBe("understood");
      }),
      { numRuns: 60 },
    );
  });
});

describe("content that begins with a thinking block", () => {
  const cut = (text: string, size: number) => text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];

  function split(content: string, size: number) {
    const splitter = new ThinkSplitter();
    const pieces = [...cut(content, size).map((piece) => splitter.push(piece)), splitter.end()];
    const join = (key: "thinking" | "text") => pieces.map((piece) => piece[key]).join("");
    return { thinking: join("thinking"), text: join("text"), prefix: splitter.prefix };
  }

  test("loses nothing, however it is cut", () => {
    const markup = fc.array(fc.constantFrom("<think>", "</think>", "<thin", "</", "<", "a", " ", "\n"), {
      maxLength: 8,
    });
    fc.assert(
      fc.property(markup, fc.integer({ min: 1, max: 9 }), (tokens, size) => {
        const content = tokens.join("");
        const { prefix, text, thinking } = split(content, size);
        expect(prefix + text).toBe(content);
        expect({ prefix, text, thinking }).toEqual(split(content, content.length + 1));
      }),
    );
  });

  test.each([
    ["<think>a</think>\n\nb", "a", "b"],
    ["\n<think>a", "a", ""],
    ["<think>a</thi", "a</thi", ""],
    ["<think></think>b<think>c</think>", "", "b<think>c</think>"],
    ["I write <think> tags", "", "I write <think> tags"],
    ["<thi", "", "<thi"],
  ])("%j is %j and %j", (content, thinking, text) => {
    expect(split(content, 3)).toMatchObject({ thinking, text });
  });
});
