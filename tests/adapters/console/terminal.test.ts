import { expect, test } from "vitest";
import { parseTerminal } from "../../../src/adapters/console/page/ansi.ts";

const esc = "\u001B";
const plain = (text: string) =>
  parseTerminal(text)
    .map((run) => run.text)
    .join("");

test.each([
  [
    `${esc}[31mred${esc}[0m.`,
    [
      ["ansi-red", "red"],
      ["", "."],
    ],
  ],
  [
    `${esc}[1;32mgood${esc}[22m!`,
    [
      ["ansi-green ansi-bold", "good"],
      ["ansi-green", "!"],
    ],
  ],
  [
    `${esc}[7mx${esc}[27;9my`,
    [
      ["ansi-inverse", "x"],
      ["ansi-strike", "y"],
    ],
  ],
  [
    `${esc}[38;5;196mx${esc}[48;2;0;0;200my`,
    [
      ["ansi-red", "x"],
      ["ansi-red ansi-on-blue", "y"],
    ],
  ],
  [`${esc}[38;5;240mgrey`, [["", "grey"]]],
  [
    `${esc}[97mx${esc}[39my`,
    [
      ["ansi-white", "x"],
      ["", "y"],
    ],
  ],
])("Colours and marks of %j are understood", (text, runs) => {
  expect(parseTerminal(text)).toEqual(runs.map(([classes, shown]) => ({ classes, text: shown })));
});

test.each([
  ["progress 20%\rprogress 40%\rprogress 60%\r", "progress 60%"],
  ["one\r\ntwo\r\n", "one\ntwo\n"],
  [`downloading${esc}[2K\rdone\nnext`, "done\nnext"],
  ["a\rb\nc\rd", "b\nd"],
])("Of what %j overwrites, the last state is shown", (text, shown) => {
  expect(plain(text)).toBe(shown);
});

test.each([
  [`${esc}]8;;https://evil.example${esc}\\link${esc}]8;;${esc}\\`, "link"],
  [`${esc}]0;title\u0007text`, "text"],
  [`${esc}[2J${esc}[Hhome${esc}(B`, "home"],
  ["bell\u0007 null\u0000", "bell null"],
  [`${esc}[31`, "31"],
])("Other control sequences of %j are left out", (text, shown) => {
  expect(plain(text)).toBe(shown);
});

test("A text of nothing but escapes takes no longer than its length", () => {
  const text = `${esc}[31;`.repeat(10_000) + `${esc}[1m${esc}[0mx`.repeat(5_000) + `${esc}]`.repeat(10_000);
  const before = performance.now();
  parseTerminal(text);
  expect(performance.now() - before).toBeLessThan(2_000);
});
