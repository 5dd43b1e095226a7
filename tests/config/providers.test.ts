import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { openModels } from "../../src/app/models/models.ts";
import { loadConfig } from "../../src/config/load.ts";
import { namedModel } from "../../src/config/model-choice.ts";
import { run } from "../agent/turn.ts";
import { startFakeAnthropic } from "../fakes/anthropic.ts";
import { startFakeOpenAI } from "../fakes/openai.ts";

function load(yaml: string, env: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), "heddle-providers-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "heddle.yaml"), yaml);
  return loadConfig(env, folder);
}

describe("Services beside each other", () => {
  test("are each spoken to in their protocol, with their own key and headers, and nobody else's", async () => {
    const claude = await startFakeAnthropic({ apiKey: "key-of-claude" });
    const router = await startFakeOpenAI({ apiKey: "key-of-router" });
    const proxy = await startFakeOpenAI({ apiKey: "key-of-proxy", dialect: "openai" });
    onTestFinished(async () => void (await Promise.all([claude.close(), router.close(), proxy.close()])));
    const config = load(
      `
model: claude/claude-sonnet-5-5
modelChoices: [router/vendor/model, proxy/gpt-6.1-sol]
providers:
  claude: { protocol: anthropic, baseUrl: "${claude.url}", keyVariable: CLAUDE_KEY }
  router:
    protocol: openai-chat
    baseUrl: ${router.baseUrl}
    keyVariable: ROUTER_KEY
    headers: { X-Team: looms, X-Secret: "team \${TEAM_SECRET}" }
  proxy: { protocol: openai-responses, baseUrl: "${proxy.baseUrl}", keyVariable: PROXY_KEY }
`,
      {
        CLAUDE_KEY: "key-of-claude",
        ROUTER_KEY: "key-of-router",
        PROXY_KEY: "key-of-proxy",
        TEAM_SECRET: "hush-hush",
      },
    );
    expect(config.secrets).toEqual(
      expect.arrayContaining(["key-of-claude", "key-of-router", "key-of-proxy", "hush-hush"]),
    );
    claude.push({ content: [{ type: "text", text: "By Claude." }] });
    router.push({ text: "By the router." });
    proxy.push({ text: "By the proxy." });
    const { model, choose } = await openModels(config, { warn() {} });
    const texts = [];
    for (const name of [undefined, "router/vendor/model", "proxy/gpt-6.1-sol"]) {
      const { outcome } = await run({ model: name ? choose("slack:T1:C1:1", name) : model });
      texts.push(outcome.kind === "answered" && outcome.text);
    }
    expect(texts).toEqual(["By Claude.", "By the router.", "By the proxy."]);
    expect(router.chats[0]?.model).toBe("vendor/model");
    expect(proxy.responses).toHaveLength(1);
    for (const { headers } of router.requests) {
      expect(headers).toMatchObject({ "x-team": "looms", "x-secret": "team hush-hush" });
    }
    const sent = (requests: readonly { headers: object }[]) => JSON.stringify(requests.map((r) => r.headers));
    expect(sent(claude.requests)).not.toMatch(/key-of-router|key-of-proxy|hush/);
    expect(sent(router.requests)).not.toMatch(/key-of-claude|key-of-proxy/);
  });

  test.each(["openai-chat", "openai-responses", "anthropic"])(
    "without a key are sent none (%s)",
    async (p) => {
      const reply = p === "anthropic" ? [{ content: [{ type: "text" as const, text: "Hi." }] }] : undefined;
      const service = reply
        ? await startFakeAnthropic({ apiKey: null, replies: reply })
        : await startFakeOpenAI({ apiKey: null, replies: [{ text: "Hi." }] });
      onTestFinished(() => service.close());
      const baseUrl = "baseUrl" in service ? service.baseUrl : service.url;
      const config = load(
        `model: local/claude-sonnet-5-5\nproviders: { local: { protocol: ${p}, baseUrl: "${baseUrl}" } }\n`,
        { OPENAI_API_KEY: "key-of-another", ANTHROPIC_API_KEY: "key-of-another" },
      );
      const { model } = await openModels(config, { warn() {} });
      expect((await run({ model })).outcome).toMatchObject({ kind: "answered", text: "Hi." });
    },
  );

  test("may change how one of the known providers is spoken to", () => {
    const { protocol, baseUrl, apiKey } = {
      ...{ protocol: undefined, baseUrl: undefined, apiKey: undefined },
      ...namedModel(
        load("providers: { openai: { protocol: openai-responses } }\n", {
          ...{ OPENAI_API_KEY: "o", OPENAI_BASE_URL: "https://proxy.example/v1" },
        }),
        "openai/gpt-6.1-sol",
      ),
    };
    expect([protocol, baseUrl, apiKey]).toEqual(["openai-responses", "https://proxy.example/v1", "o"]);
  });

  test("are opened as docs/models.md shows them", () => {
    const page = readFileSync(resolve(import.meta.dirname, "../../docs/models.md"), "utf8");
    const [yaml = ""] = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text = ""]) => text);
    const config = load(yaml, {
      ...{ OPENROUTER_API_KEY: "r", VLLM_KEY: "v", AZURE_OPENAI_KEY: "a", GEMINI_API_KEY: "g" },
      AWS_BEARER_TOKEN_BEDROCK: "b",
    });
    const { settings } = config;
    const names = [settings.model ?? "", ...settings.fallbackModels, ...settings.modelChoices];
    const opened = names.map((name) => {
      const choice = namedModel(config, name);
      return "model" in choice && [choice.protocol, choice.model, choice.apiKey];
    });
    expect(opened).toEqual([
      ["anthropic", "anthropic.claude-opus-5", "b"],
      ["openai-chat", "deepseek/deepseek-v3.2", "r"],
      ["openai-chat", "qwen3-coder:30b", undefined],
      ["openai-responses", "our-gpt", "a"],
      ["openai-chat", "gemini-3.5-flash", "g"],
      ["openai-chat", "Qwen/Qwen3-Coder-30B-A3B-Instruct", "v"],
    ]);
  });
});

describe("A faulty configuration of services", () => {
  const local = "{ protocol: openai-chat, baseUrl: http://127.0.0.1:1/v1";

  test.each([
    [
      "a model of none",
      "model: opnai/gpt-6.1-sol",
      /model: there is no provider opnai; .*Did you mean openai\?/,
    ],
    [
      "a choice of none",
      "modelChoices: [ollama/x]",
      /modelChoices: there is no provider ollama; there are anth/,
    ],
    [
      "no address",
      "providers: { a: { protocol: anthropic } }",
      /providers\.a\.baseUrl: expected a value, e\.g/,
    ],
    [
      "no protocol",
      "providers: { a: { baseUrl: http://a.example } }",
      /providers\.a\.protocol: expected a va/,
    ],
    [
      "a key in the file",
      `providers: { a: ${local}, keyVariable: sk-12-34 } }`,
      /expected the name of a variable/,
    ],
    [
      "a variable that is not set",
      `providers: { a: ${local}, headers: { X-A: "\${NO}" } } }`,
      /X-A: NO is not/,
    ],
    ["the demo's name", `providers: { demo: ${local} } }`, /other than demo/],
  ])("is refused: %s", (_what, yaml, message) => {
    expect(() => load(`${yaml}\n`)).toThrow(message);
    expect(() => load(`${yaml}\n`)).not.toThrow(/sk-12-34/);
  });

  test("is refused when the key is missing, by its name", () => {
    const config = load(`providers: { a: ${local}, keyVariable: A_KEY } }\n`);
    expect(() => namedModel(config, "a/x")).toThrow(/The model a\/x needs A_KEY/);
  });
});
