import { expect, test } from "vitest";
import { readParamHeaders, toParamHeaders } from "../../../../src/agent/mcp/transport/param-headers.ts";

const text = (header: unknown) => ({ type: "string", "x-mcp-header": header });
const read = (properties: object, more: object = {}) =>
  readParamHeaders({ type: "object", properties, ...more });

// https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#custom-headers-from-tool-parameters
test.each([
  ["on the whole input", { type: "object", "x-mcp-header": "A" }],
  ["below items", { properties: { list: { type: "array", items: text("A") } } }],
  ["below anyOf", { properties: { one: { anyOf: [text("A"), { type: "null" }] } } }],
  ["in a definition", { properties: {}, $defs: { region: text("A") } }],
  ["without a name", { properties: { one: text("") } }],
  ["with a name that is none", { properties: { one: text("A: b\r\nHost") } }],
  ["with something else", { properties: { one: text(7) } }],
  ["on a number with a point", { properties: { one: { type: "number", "x-mcp-header": "A" } } }],
  ["on several types", { properties: { one: { type: ["string", "null"], "x-mcp-header": "A" } } }],
  ["twice, whatever the case", { properties: { one: text("Region"), two: text("region") } }],
])("An annotation %s makes a tool unusable", (_, schema) => {
  expect(readParamHeaders(schema)).toEqual({ problem: expect.stringContaining("x-mcp-header") });
});

test("What only looks like an annotation is none", () => {
  expect(
    read({ "x-mcp-header": { type: "string" }, one: { type: "string", default: { "x-mcp-header": 1 } } }),
  ).toEqual([]);
});

test.each([
  ["us west 1", "us west 1"],
  ["", "=?base64??="],
  [" padded", "=?base64?IHBhZGRlZA==?="],
  ["padded\t", "=?base64?cGFkZGVkCQ==?="],
  ["a\r\nHost: b", "=?base64?YQ0KSG9zdDogYg==?="],
  ["=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="],
  ["世界", "=?base64?5LiW55WM?="],
  [7, "7"],
  [true, "true"],
  [null, undefined],
  [1.5, undefined],
  [2 ** 60, undefined],
  [["a"], undefined],
  [undefined, undefined],
])("The value %j is %j in a header", (value, written) => {
  const headers = read({ one: text("One") });
  if ("problem" in headers) throw new Error(headers.problem);
  expect(toParamHeaders(headers, { one: value })["Mcp-Param-One"]).toBe(written);
});
