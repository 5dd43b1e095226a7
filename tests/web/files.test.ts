import { existsSync } from "node:fs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { workspaces } from "../agent/tools/workspace.ts";
import { openWebSite, type WebSite } from "../fakes/web-site.ts";
import { openReading } from "./reading.ts";

const newWorkspace = workspaces();
let site: WebSite;

beforeEach(async () => {
  site = await openWebSite({ "site.example": [["93.184.216.34"]] });
});
afterEach(() => site.close());

test("a long text lies whole in the workspace, where it can be searched", async () => {
  const { sandbox, content } = await newWorkspace();
  const { text } = await openReading(site, { sandbox }).fetch("http://site.example/long");
  const [, path = ""] = /all of it is in (\S+) for search_files/.exec(text) ?? [];
  expect(path).toMatch(/^\.heddle\/web\/[0-9a-f]{8}-site\.example-long\.md$/);
  expect(await content(path)).toContain("line 3999 ");
});

test("what is no text is put into the workspace, and named", async () => {
  const { sandbox, use } = await newWorkspace();
  const { text } = await openReading(site, { sandbox }).fetch("http://site.example/binary");
  const [, path = ""] = /into the workspace: (\S+) \(7 bytes\)/.exec(text) ?? [];
  expect(text).toMatch(/^Address: http:\/\/site\.example\/binary\nIt is image\/png/);
  expect((await use("bash", { command: `wc -c < ${path}` })).text).toContain("7");
});

test("a PDF is read in the sandbox", async ({ skip }) => {
  skip(!existsSync("/usr/bin/pdftotext"), "pdftotext is not installed: apt install poppler-utils");
  const { sandbox } = await newWorkspace();
  const { text } = await openReading(site, { sandbox }).fetch("http://site.example/pdf");
  expect(text).toContain("> --- page 1 of 1 ---");
  expect(text).toContain("Hello PDF");
});
