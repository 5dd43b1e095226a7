import { expect, test } from "vitest";
import { listPages } from "../../../../src/agent/mcp/listing/list-pages.ts";
import type { ProtocolClient } from "../../../../src/agent/mcp/transport/link.ts";
import { never } from "../harness.ts";

/** Answers each request for a page with what `page` makes for its number. */
function listing(page: (number: number) => { tools: unknown[]; nextCursor?: string }) {
  const asked = { pages: 0 };
  const client: ProtocolClient = {
    request: async (_request, schema) => schema.parse(page((asked.pages += 1))),
    getServerCapabilities: () => ({ tools: {} }),
    getInstructions: () => undefined,
  };
  return { asked, list: () => listPages(client, "tools", never) };
}

const tools = (count: number) => Array.from({ length: count }, (_, index) => ({ name: `t${index}` }));

test("A list with another page behind each is cut", async () => {
  const { asked, list } = listing((number) => ({ tools: tools(1), nextCursor: `c${number}` }));
  const { entries, cut } = await list();
  expect([entries.length, asked.pages]).toEqual([101, 101]);
  expect(cut).toBe("The list of tools does not end; it was cut after 101 pages.");
});

test.each([1, 3])("More tools on %i page(s) than a turn can go through are cut", async (pages) => {
  const { list } = listing((number) => ({
    tools: tools(300_000 / pages),
    ...(number < pages && { nextCursor: `c${number}` }),
  }));
  const { entries, cut } = await list();
  expect(entries).toHaveLength(5_000);
  expect(cut).toBe("The list of tools is too long; it was cut after 5000.");
});

test("A list is as long as one answer may be, however many pages it has", async () => {
  const description = "x".repeat(10 * 1_048_576);
  const { asked, list } = listing((number) => ({ tools: [{ description }], nextCursor: `c${number}` }));
  expect((await list()).cut).toBe("The list of tools is too long; it was cut after 2.");
  expect(asked.pages).toBe(2);
});
