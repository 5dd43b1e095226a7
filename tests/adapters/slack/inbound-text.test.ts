import { describe, expect, test } from "vitest";
import { mentionsUser, readableText } from "../../../src/adapters/slack/inbound/text.ts";

const read = (text: string) => readableText(text, "UBOT", (id) => (id === "U1" ? "Ada" : undefined));

describe("readableText", () => {
  test.each([
    ["the mention at the beginning", "<@UBOT> do it", "do it"],
    ["its punctuation", " <@UBOT>: do it", "do it"],
    ["the mention at the end", "do it, <@UBOT>", "do it"],
    ["every mention at both ends", "<@UBOT> <@UBOT|heddle> do it <@UBOT> ", "do it"],
    ["nothing else", "<@UBOT>", ""],
  ])("leaves out %s", (_what, text, expected) => {
    expect(read(text)).toBe(expected);
  });

  test.each([
    ["a known name", "ask <@U1>", "ask @Ada"],
    ["an unknown name", "ask <@U2> or <@U3|bob>", "ask @U2 or @bob"],
    ["a channel", "in <#C1|general> or <#C2>", "in #general or #C2"],
    ["a group", "<!here> <!subteam^S1|@team> <!date^1^{date}|today>", "@here @team today"],
    ["a bare link", "see <https://a.test/?a=1&amp;b=2>", "see https://a.test/?a=1&b=2"],
    ["a typed address", "see <http://a.test|a.test>, <mailto:a@b.test|a@b.test>", "see a.test, a@b.test"],
    ["a link with a text", "see <https://a.test|the &lt;docs&gt;>", "see the <docs> (https://a.test)"],
    ["entities, once", "1 &lt; 2 &amp;&amp; &amp;lt;", "1 < 2 && &lt;"],
    ["lines", "<@UBOT>\n```\na &lt; b\n```", "```\na < b\n```"],
  ])("turns %s into what people see", (_what, text, expected) => {
    expect(read(text)).toBe(expected);
  });

  test("keeps mentions where an administrator decides about people, since a name is no identity", () => {
    expect(read("<@UBOT> !deny <@U1>, <@U2|bob>")).toBe("!deny <@U1>, <@U2|bob>");
    expect(read("<@UBOT> !deny <@U1> please")).toBe("!deny @Ada please");
  });
});

test("a text of nothing but blanks between words is read in time that grows with its length", () => {
  const gap = " ".repeat(400_000);
  expect(readableText(`a${gap}b <@UBOT>`, "UBOT", () => undefined)).toBe(`a${gap}b`);
});

test("a mention is found with and without a label, and not for another user", () => {
  expect(mentionsUser("hi <@UBOT>", "UBOT")).toBe(true);
  expect(mentionsUser("hi <@UBOT|heddle>", "UBOT")).toBe(true);
  expect(mentionsUser("hi <@UBOT2>", "UBOT")).toBe(false);
});
