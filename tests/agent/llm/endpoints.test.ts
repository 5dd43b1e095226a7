import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { resolveBaseUrl } from "../../../src/agent/llm/endpoints.ts";

const protocol = fc.constantFrom("anthropic" as const, "openai" as const);
const slashes = fc.constantFrom("", "/", "//");

describe("resolveBaseUrl", () => {
  test.each([
    ["https://api.minimax.io", "anthropic", "https://api.minimax.io/anthropic"],
    ["https://api.minimax.io/v1/", "anthropic", "https://api.minimax.io/anthropic"],
    ["https://api.minimaxi.com/anthropic", "openai", "https://api.minimaxi.com/v1"],
    ["https://api.minimaxi.com/anthropic/v1", "anthropic", "https://api.minimaxi.com/anthropic"],
    ["https://api.anthropic.com/", "anthropic", "https://api.anthropic.com"],
    ["https://proxy.example/v1/", "anthropic", "https://proxy.example/v1"],
    ["https://api.minimax.io.evil.example/v1", "anthropic", "https://api.minimax.io.evil.example/v1"],
    ["https://evil.example/api.minimax.io/", "openai", "https://evil.example/api.minimax.io"],
  ] as const)("%s for %s is %s", (given, protocolName, expected) => {
    expect(resolveBaseUrl(given, protocolName)).toBe(expected);
  });

  test("MiniMax's hosts always end in the protocol's own path, whatever was written", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("https://api.minimax.io", "https://api.minimaxi.com"),
        fc.array(fc.constantFrom("/anthropic", "/v1"), { maxLength: 3 }),
        slashes,
        protocol,
        (host, paths, end, name) => {
          const expected = host + (name === "anthropic" ? "/anthropic" : "/v1");
          expect(resolveBaseUrl(host + paths.join("") + end, name)).toBe(expected);
        },
      ),
    );
  });

  test("any other address is left alone but for trailing slashes", () => {
    const host = fc
      .oneof(
        fc.domain(),
        fc.domain().map((name) => `api.minimax.io.${name}`),
        fc.constant("127.0.0.1:11434"),
      )
      .filter((name) => name !== "api.minimax.io" && name !== "api.minimaxi.com");
    const path = fc.array(fc.constantFrom("/anthropic", "/v1", "/api.minimax.io", "/proxy"), {
      maxLength: 3,
    });
    fc.assert(
      fc.property(
        fc.constantFrom("http://", "https://"),
        host,
        path,
        slashes,
        protocol,
        (scheme, name, parts, end, wire) => {
          const bare = scheme + name + parts.join("");
          expect(resolveBaseUrl(bare + end, wire)).toBe(bare);
        },
      ),
    );
  });

  test("resolving twice changes nothing", () => {
    fc.assert(
      fc.property(fc.webUrl(), protocol, (url, name) => {
        const once = resolveBaseUrl(url, name);
        expect(resolveBaseUrl(once, name)).toBe(once);
      }),
    );
  });
});
