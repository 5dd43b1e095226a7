import { expect, test } from "vitest";
import { fillKey, fillPrompt } from "../../src/hooks/template.ts";

/** What a webhook's body becomes in a task, whatever its sender sends. */

const fill = (payload: unknown) => fillPrompt("Look at {{body}}.", { kind: "", payload });

test("A body is quoted with each member on a line of its own", () => {
  expect(
    fill({ title: "Disk", tags: ["a"] })
      .split("\n")
      .slice(3),
  ).toEqual(["[body] is:", "> {", '>   "title": "Disk",', '>   "tags": [', '>     "a"', ">   ]", "> }"]);
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
