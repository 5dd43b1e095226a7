import { describe, expect, test } from "vitest";
import { callResultSchema, toToolResult } from "../../../src/agent/mcp/result.ts";
import type { ToolResult } from "../../../src/agent/tools/tool.ts";

const read = (result: object): ToolResult => toToolResult(callResultSchema.parse(result));
const bytes = Buffer.from("\x89PNG\r\n\x1a\n and so on", "latin1");
const png = bytes.toString("base64");
const sound = Buffer.from("RIFF____WAVE").toString("base64");

describe("what the model gets of a server's result", () => {
  test("text parts in order", () => {
    const content = [
      { type: "text", text: "one" },
      { type: "text", text: "two" },
    ];
    expect(read({ content })).toEqual({ status: "ok", text: "one\ntwo" });
  });

  test("an error with the server's own words", () => {
    const result = read({ isError: true, content: [{ type: "text", text: "no such table: users" }] });
    expect(result).toEqual({ status: "error", text: "no such table: users" });
  });

  test("an error without words says that there are none", () => {
    expect(read({ isError: true, content: [] })).toMatchObject({
      status: "error",
      text: expect.stringMatching(/says nothing/),
    });
  });

  test("an image as an image, by what its bytes say", () => {
    const result = read({ content: [{ type: "image", data: png, mimeType: "image/jpeg" }] });
    expect(result).toEqual({ status: "ok", text: "", images: [{ mediaType: "image/png", data: png }] });
  });

  test("a note for what no model takes", () => {
    const content = [
      { type: "image", data: "AAAA", mimeType: "image/png" },
      {
        type: "image",
        data: Buffer.concat([bytes, Buffer.alloc(5_000_000)]).toString("base64"),
        mimeType: "image/png",
      },
      { type: "audio", data: sound, mimeType: "audio/wav" },
      { type: "hologram", data: "?" },
    ];
    expect(read({ content }).text.split("\n")).toEqual([
      "[image/png, 3 bytes: cannot be shown]",
      "[image/png, 5000018 bytes: larger than 4194304 bytes]",
      "[audio/wav, 12 bytes: cannot be shown]",
      "[content of a kind that is not supported]",
    ]);
  });

  test("resources with their address", () => {
    const content = [
      { type: "resource_link", uri: "file:///a.md", name: "A" },
      { type: "resource", resource: { uri: "note://1", text: "hello" } },
      { type: "resource", resource: { uri: "note://2", blob: png, mimeType: "image/png" } },
    ];
    const result = read({ content });
    expect(result.text).toBe("[resource A: file:///a.md]\n[resource note://1]\nhello");
    expect(result.images).toHaveLength(1);
  });

  test("structured content, once", () => {
    const structuredContent = { rows: 3 };
    expect(read({ structuredContent }).text).toBe('{"rows":3}');
    const said = { content: [{ type: "text", text: '{ "rows": 3 }' }], structuredContent };
    expect(read(said).text).toBe('{ "rows": 3 }');
    const summary = { content: [{ type: "text", text: "three rows" }], structuredContent };
    expect(read(summary).text).toBe('three rows\n{"rows":3}');
  });

  test("something, when there is nothing", () => {
    expect(read({})).toEqual({ status: "ok", text: "(no output)" });
  });
});
