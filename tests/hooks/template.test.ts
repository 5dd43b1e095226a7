import { expect, test } from "vitest";
import { parseExactJson } from "../../src/agent/text/exact-json.ts";
import { fillKey, fillPrompt, fits } from "../../src/hooks/template.ts";

/** What a webhook's body becomes in a task, whatever its sender sends. */

const fill = (payload: unknown) => fillPrompt("Look at {{body}}.", { kind: "", payload });

test("A body is quoted with each member on a line of its own", () => {
  expect(
    fill({ title: "Disk", tags: ["a"] })
      .split("\n")
      .slice(3),
  ).toEqual(["[body] is:", "> {", '>   "title": "Disk",', '>   "tags": [', '>     "a"', ">   ]", "> }"]);
});

test("A long number, as ids are, keeps its digits, in the task, in the key, in the body and for filters", () => {
  const payload = parseExactJson('{"id":1234567890123456789,"in":{"id":1234567890123456788}}');
  const event = { kind: "", payload };
  expect(fillPrompt("Look at {{id}}.", event)).toBe("Look at 1234567890123456789.");
  expect(fillKey("{{id}} {{in.id}}", event)).toBe("1234567890123456789 1234567890123456788");
  expect(fill(payload)).toContain('> {\n>   "id": 1234567890123456789,');
  // The settings' numbers are rounded.
  const is = Number("1234567890123456789");
  expect(fits([{ path: "id", is }], event)).toBe(true);
});

test("Members of lists are named as in JavaScript, or with a dot", () => {
  const payload = { commits: [{ id: 7, on: [["a"]] }] };
  const template =
    "{{commits[0].id}} {{commits.0.id}} {{ commits[0].on[0][0] }} {{commits[1].id}} {{commits[x]}}";
  expect(fillKey(template, { kind: "", payload })).toBe("7 7 a  {{commits[x]}}");
});

test.each([
  [300, 20_000],
  [50_000, 0],
])("One that is %d levels deep is quoted as it was sent, as far as it is taken", (depth, members) => {
  const json = `{"a":${"[".repeat(depth)}${"1,".repeat(members)}1${"]".repeat(depth)}}`;
  const payload: unknown = JSON.parse(json);
  const lines = fill(payload).split("\n");
  expect(lines.slice(4)).toEqual([`> ${json.slice(0, 19_999)}…`]);
  expect(fillKey("{{body}}", { kind: "", payload })).toBe(json);
});
