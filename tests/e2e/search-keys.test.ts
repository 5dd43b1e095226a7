import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { countAttacks } from "../attacks.ts";
import { type FakeReply as AnthropicReply, startFakeAnthropic } from "../fakes/anthropic.ts";
import { type FakeReply as OpenAIReply, startFakeOpenAI } from "../fakes/openai.ts";
import { openSearchServices, searchKey } from "../fakes/search-services.ts";
import { expectNowhere, inspectSandbox } from "./credentials.ts";
import { useSetting } from "./hooks.ts";
import { patienceMs } from "./program.ts";
import { running, uniqueSleep } from "./processes.ts";
import { consoleKind } from "./scenario/console.ts";

/**
 * What a search signs in with is nowhere but with its service, with the program itself. SearXNG takes no key; Brave's is
 * looked for in pull-request.test.ts, beside those of repositories and platforms.
 */

const missing = ["socat", "nsenter"].filter((program) => !existsSync(`/usr/bin/${program}`));
const here = useSetting();
const address = "https://loom.example/heddle?part=1";
const modelKey = "canary-key-of-the-model-service-51";

/** A model that searches, and then runs this command; whose service may search by itself. */
interface Scene {
  settings: object;
  environment: Record<string, string>;
  /** What signs in, and must be found nowhere. */
  keys: string[];
  /** Bodies of all requests to the model's service. */
  asked(): readonly object[];
  /** How often the web was searched. */
  searches(): number;
  close(): Promise<unknown>;
}

const answerOf = (body: object, command: string, time: number) =>
  time === 0
    ? ({ name: "web_search", input: { query: "heddle" } } as const)
    : JSON.stringify(body).includes("loom.example/heddle")
      ? ({ name: "bash", input: { command: `env; ${command}` } } as const)
      : undefined;

async function openAnthropic(
  command: string,
  settings: object,
  keys: Record<string, string>,
): Promise<Scene> {
  let time = 0;
  const replies = (body: { tools?: object[] | undefined }): AnthropicReply => {
    if (body.tools?.some((tool) => "type" in tool)) {
      return {
        content: [
          { type: "server_tool_use", query: "heddle" },
          { type: "web_search_tool_result", found: [{ url: address, title: "Heddles" }] },
          { type: "text", text: "x", cites: [{ url: address, cited_text: "They lift threads." }] },
        ],
      };
    }
    const call = answerOf(body, command, time++);
    return { content: [call ? { type: "tool_use", ...call } : { type: "text", text: "Nothing was found." }] };
  };
  const model = await startFakeAnthropic({ apiKey: modelKey, replies });
  return {
    settings,
    environment: { ANTHROPIC_API_KEY: modelKey, ANTHROPIC_BASE_URL: model.url, ...keys },
    keys: [modelKey, ...Object.values(keys)],
    asked: () => model.bodies,
    searches: () => model.bodies.filter(({ tools }) => tools?.some((tool) => "type" in tool)).length,
    close: () => model.close(),
  };
}

const scenes: [name: string, open: (command: string) => Promise<Scene>][] = [
  [
    "Tavily",
    async (command) => {
      const service = await openSearchServices();
      const web = { search: "tavily", searchUrl: service.tavily };
      const scene = await openAnthropic(command, { web }, { TAVILY_API_KEY: searchKey });
      const close = () => Promise.all([scene.close(), service.close()]);
      return { ...scene, searches: () => service.asked.length, close };
    },
  ],
  [
    "Anthropic's own search",
    (command) => {
      const models = { "anthropic/claude-sonnet-5-5": { webSearch: { price: 0 } } };
      return openAnthropic(command, { web: { search: "model" }, models }, {});
    },
  ],
  [
    "OpenAI's own search",
    async (command) => {
      let time = 0;
      // As a tool of the service's; as one of Heddle's it is a function.
      const isSearch = (body: object) => JSON.stringify(body).includes('"type":"web_search');
      const replies = (body: object): OpenAIReply => {
        if (isSearch(body)) {
          const cites = [{ mark: "They lift threads", url: address, title: "Heddles" }];
          return { search: { query: "heddle", sources: [address], cites }, text: "They lift threads." };
        }
        const call = answerOf(body, command, time++);
        return call ? { calls: [call] } : { text: "Nothing was found." };
      };
      const model = await startFakeOpenAI({ apiKey: modelKey, dialect: "openai", replies });
      const name = "own/gpt-5.6-terra";
      return {
        settings: {
          web: { search: "model" },
          models: { [name]: { webSearch: { price: 0 } } },
          providers: {
            own: { protocol: "openai-responses", baseUrl: model.baseUrl, keyVariable: "OWN_KEY" },
          },
        },
        environment: { OWN_KEY: modelKey, HEDDLE_MODEL: name },
        keys: [modelKey],
        asked: () => model.responses,
        searches: () => model.responses.filter(isSearch).length,
        close: () => model.close(),
      };
    },
  ],
];

describe.skipIf(missing.length > 0).each(scenes)("The key of %s", (_, open) => {
  test("is in no sandbox, environment, log, journal or message", {
    timeout: 2 * patienceMs,
  }, async (context) => {
    countAttacks(context, 6);
    const { command } = uniqueSleep();
    const scene = await open(command);
    await using closing = new AsyncDisposableStack();
    closing.defer(async () => void (await scene.close()));
    await writeFile(join(here.place.folder, "heddle.yaml"), JSON.stringify(scene.settings));
    const program = here.place.start(["start"], { ...scene.environment, REDIS_URL: here.redis.path });
    await program.line(/Heddle is ready/);
    const url = /console +(\S+)/.exec(await program.line(/^ +console /))?.[1] ?? "";
    const platform = await consoleKind.open();
    closing.defer(() => platform.close());
    const room = await platform.room("main", url);
    await room.says("ada", "What is a heddle?", { mention: false });
    await running(command);
    const sandbox = inspectSandbox(command);
    expect(scene.searches()).toBe(1);
    const [first] = room.messages();
    await room.stops("ada", first);
    const drawn = await room.until(() => {
      const text = room
        .messages()
        .map((raw) => room.drawn(raw))
        .join("\n");
      return text.includes("Stopped") && text;
    });
    const places = { log: here.place.outputs(), messages: drawn, model: JSON.stringify(scene.asked()) };
    const { redis, place } = here;
    await expectNowhere(scene.keys, places, { redis, folder: place.folder, sandbox });
  });
});
