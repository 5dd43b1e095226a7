import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseManifest } from "../../../src/agent/skills/manifest.ts";

const parse = (text: string, folder = "tea") => parseManifest(text, folder);
const front = (lines: string, body = "Boil water.") => `---\n${lines}\n---\n${body}\n`;
const reasonOf = (text: string): string => {
  const parsed = parse(text);
  return parsed.ok ? "it was not refused" : parsed.reason;
};

describe("a SKILL.md is read", () => {
  test("with its name, description, expected tools and body", () => {
    const parsed = parse(
      front("name: tea\ndescription: Makes tea.\nallowed-tools: bash read_file\nlicense: MIT"),
    );
    const manifest = {
      name: "tea",
      description: "Makes tea.",
      expectedTools: "bash read_file",
      instructions: "Boil water.",
    };
    expect(parsed).toEqual({ ok: true, manifest, warnings: [] });
  });

  test.for([
    ["without a line end after the closing fence", "---\nname: tea\ndescription: d\n---"],
    ["with carriage returns", "---\r\nname: tea\r\ndescription: d\r\n---\r\nBody\r\n"],
    ["with a byte order mark", "\uFEFF---\nname: tea\ndescription: d\n---\n"],
    ["with blanks after the fences", "---  \nname: tea\ndescription: d\n--- \n"],
    ["with a list of tools", front("name: tea\ndescription: d\nallowed-tools: [bash]")],
  ] as const)("%s", ([, text]) => {
    expect(parse(text)).toMatchObject({
      ok: true,
      manifest: { name: "tea", description: "d" },
      warnings: [],
    });
  });

  test("with colons in a description that is not quoted", () => {
    const parsed = parse(front("name: tea\ndescription: Use when: someone is cold # or tired"));
    expect(parsed).toMatchObject({ manifest: { description: "Use when: someone is cold # or tired" } });
  });

  test("with a description over several lines", () => {
    expect(parse(front("name: tea\ndescription: >\n  Makes tea:\n  hot."))).toMatchObject({
      manifest: { description: "Makes tea: hot." },
    });
  });

  test("with values that look like numbers left as they are", () => {
    expect(parseManifest(front("name: 007\ndescription: 1.10"), "007")).toMatchObject({
      manifest: { name: "007", description: "1.10" },
      warnings: [],
    });
  });

  test("with rules in its body that look like fences", () => {
    expect(parse(front("name: tea\ndescription: d", "a\n---\nb"))).toMatchObject({
      manifest: { instructions: "a\n---\nb" },
    });
  });
});

describe("a SKILL.md is refused, with the reason,", () => {
  test("without front matter", () => {
    expect(reasonOf("# Tea\n")).toMatch(/^It has no front matter/);
    expect(reasonOf("---\nname: tea\n")).toMatch(/^It has no front matter/);
  });

  test("without name or description", () => {
    expect(reasonOf(front("description: d"))).toBe("Its front matter has no usable name.");
    expect(reasonOf(front("name: tea\ndescription:"))).toBe("Its front matter has no usable description.");
    expect(reasonOf("---\n---\n")).toBe("Its front matter has no usable name and description.");
  });

  test("with front matter that no leniency can read", () => {
    expect(reasonOf(front("name: tea\ndescription: [d"))).toMatch(/^Its front matter is not YAML: /);
  });

  test("with a name that would lead out of its folder", () => {
    expect(reasonOf(front("name: ../tea\ndescription: d"))).toMatch(/cannot be a folder's name/);
  });
});

describe("a flaw is a warning", () => {
  test("when the name is not that of the folder", () => {
    expect(parseManifest(front("name: tea\ndescription: d"), "coffee")).toMatchObject({
      ok: true,
      warnings: ["Its name tea is not that of its folder, coffee."],
    });
  });

  test.for(["Tea_Time", "tea--time", "tea-", "t".repeat(65)])("when the name is %s", (name) => {
    const parsed = parseManifest(front(`name: ${name}\ndescription: d`), name);
    expect(parsed).toMatchObject({ ok: true, warnings: [expect.stringMatching(/at most 64/)] });
  });

  test("when what it says of tools is no list of names", () => {
    const odd = front("name: tea\ndescription: d\nallowed-tools:\n  Bash: git add\n  Read: all");
    expect(parse(odd)).toMatchObject({
      manifest: { expectedTools: "" },
      warnings: ["Its allowed-tools is neither a text nor a list of texts."],
    });
  });

  test("when it is long", () => {
    const long = front(`name: tea\ndescription: ${"d".repeat(1_025)}`, "line\n".repeat(600));
    expect(parse(long)).toMatchObject({
      ok: true,
      warnings: [expect.stringMatching(/1024/), expect.stringMatching(/500 lines/)],
    });
  });
});

test("a text of more than one page is named to the operator", () => {
  expect(parse(front("name: tea\ndescription: d", "x".repeat(36_001)))).toMatchObject({
    ok: true,
    warnings: [
      "It has 36001 characters, which the agent loads in pages of 36000; move details to files beside it.",
    ],
  });
});

test("whatever a file holds, reading it ends in a manifest or a reason", () => {
  const line = fc.oneof(
    fc.string(),
    fc.constantFrom("---", "name: a", "description: b", "x: [", "? y", "&a *a"),
  );
  fc.assert(
    fc.property(fc.array(line), (lines) => {
      const parsed = parse(["---", ...lines].join("\n"));
      expect(parsed.ok ? parsed.manifest.name.length : parsed.reason.length).toBeGreaterThan(0);
    }),
  );
});
