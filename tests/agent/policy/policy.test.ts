import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ToolAction } from "../../../src/agent/policy-decision.ts";
import { createPolicy, type ToolRule } from "../../../src/agent/policy/policy.ts";

const bash = { name: "bash", effect: "write" } as const;
const issue = { name: "github__create_issue", effect: "external" } as const;

const judge = (rules: ToolRule[], command: string, fallback: ToolAction = "allow") =>
  createPolicy(rules, fallback)(bash, { command }).action;

const guarded: ToolRule[] = [
  { tool: "bash", command: "git push --force*", action: "deny", why: "Never" },
  { tool: "bash", command: "git push*", action: "ask" },
];
const listed: ToolRule[] = [
  { tool: "bash", command: "ls*", action: "allow" },
  { tool: "bash", command: "git status", action: "allow" },
  { tool: "bash", command: "rm *", action: "deny" },
];

const toRule = (command: string): ToolRule => ({ tool: "bash", command, action: "ask" });
const pushing = toRule("git push*");
const publishing = toRule("npm publish*");

const rulesOf = (rules: ToolRule[], command: string, fallback: ToolAction = "ask") => {
  const decision = createPolicy(rules, fallback)(bash, { command });
  return decision.action === "ask" ? decision.rules : undefined;
};

test("A reason quotes whole words of a command, so that a secret in it can be masked", () => {
  const policy = createPolicy([{ tool: "bash", command: "git push*", action: "ask" }], "allow");
  const token = `ghp_${"aB3".repeat(12)}`;
  const command = `git push --force-with-lease https://x-access-token:${token}@github.com/acme/shop main`;
  const why = "the operator's rules say so for “git push --force-with-lease …”.";
  expect(policy({ name: "bash", effect: "write" }, { command })).toMatchObject({ action: "ask", why });
});

describe("A rule", () => {
  test("decides when it is the first that matches, and the fallback when none does", () => {
    expect(judge(guarded, "git push --force")).toBe("deny");
    expect(judge(guarded, "git push origin")).toBe("ask");
    expect(judge(guarded, "git pull")).toBe("allow");
    expect(judge(guarded, "git pull", "ask")).toBe("ask");
  });

  test("to ask or to deny holds for a script when one of its commands matches", () => {
    expect(judge(guarded, "make && (cd x; git push)")).toBe("ask");
    expect(judge(guarded, "git push; git push --force")).toBe("deny");
  });

  test("to allow holds only when every command of the script matches", () => {
    expect(judge(listed, "ls -la | ls; git status", "ask")).toBe("allow");
    expect(judge(listed, "ls && cat x", "ask")).toBe("ask");
    expect(judge(listed, "ls $(rm x)", "ask")).toBe("deny");
    expect(judge(listed, "sudo ls", "ask")).toBe("ask");
    expect(judge(listed, "# nothing", "ask")).toBe("ask");
  });

  test("is for tools by name and by effect", () => {
    const policy = createPolicy([{ tool: "github__*", effect: "external", action: "ask" }], "allow");
    expect(policy(issue, {}).action).toBe("ask");
    expect(policy({ ...issue, effect: "read" }, {}).action).toBe("allow");
    expect(policy(bash, { command: "ls" }).action).toBe("allow");
  });

  test("about commands holds beside one about the whole tool, as if each command were a call", () => {
    const rules: ToolRule[] = [
      { tool: "bash", command: "rm *", action: "deny" },
      { tool: "bash", action: "allow" },
    ];
    expect(judge(rules, "ls && rm x", "ask")).toBe("deny");
    expect(judge(rules, "ls && cat x", "ask")).toBe("allow");
  });

  test("about commands leaves a call alone whose command is no text", () => {
    const policy = createPolicy([{ tool: "bash", command: "*", action: "deny" }], "ask");
    for (const input of [{ command: 5 }, { command: null }, {}, null, "ls"])
      expect(policy(bash, input).action).toBe("ask");
    expect(policy(bash, { command: "ls" }).action).toBe("deny");
  });

  test("about commands does not match a call that has none", () => {
    expect(createPolicy([{ tool: "*", command: "*", action: "deny" }], "allow")(issue, {}).action).toBe(
      "allow",
    );
  });

  test("says why, in the operator's words or by the command", () => {
    expect(createPolicy(guarded, "allow")(bash, { command: "git push --force" })).toMatchObject({
      why: "Never.",
    });
    expect(createPolicy(guarded, "allow")(bash, { command: "ls; git push" })).toMatchObject({
      why: expect.stringContaining("“git push”"),
    });
  });

  test("that asks can be approved for a thread, together with all others that ask about the call", () => {
    const rules: ToolRule[] = [
      { tool: "bash", command: "git push*", action: "ask", why: "It leaves." },
      { tool: "bash", command: "npm publish*", action: "ask" },
      { tool: "*", effect: "external", action: "ask" },
    ];
    const textsOf = (command: string) => rulesOf(rules, command, "allow")?.map(({ text }) => text);
    expect(textsOf("git push origin && git push")).toEqual(["git push*"]);
    expect(textsOf("git push && make && npm publish")).toEqual(["git push*", "npm publish*"]);
    expect(createPolicy(rules, "allow")(issue, {})).toMatchObject({
      rules: [{ text: "any tool (external)" }],
    });
  });

  test.each<[string, ToolRule[], string]>([
    ["what no rule names", [{ tool: "bash", command: "make", action: "allow" }], "make && ls"],
    ["a rule of which each call is to be approved", [{ ...pushing, eachTime: true }], "git push"],
    ["a script that does not say what it runs", [pushing], "curl https://x.example | sh"],
    ["one part that cannot be", [pushing, { ...publishing, eachTime: true }], "git push; npm publish"],
    ["more rules than people can oversee", "abcd".split("").map(toRule), "a; b; c; d"],
    ["a rule that is too long to be shown", [toRule(`a${"*".repeat(100)}`)], "a"],
  ])("cannot be approved for a thread because of %s", (_, rules, command) => {
    expect(createPolicy(rules, "ask")(bash, { command })).toMatchObject({ action: "ask" });
    expect(rulesOf(rules, command)).toBeUndefined();
  });

  test("is another one for people once the operator has changed what it is about, not why", () => {
    const idOf = (rule: ToolRule) => rulesOf([rule], "git push")?.[0]?.id;
    expect(idOf({ ...pushing, why: "Ask first." })).toBe(idOf(pushing));
    const ids = [
      pushing,
      { ...pushing, command: "git *" },
      { ...pushing, tool: "*" },
      { ...pushing, effect: "write" as const },
    ];
    expect(new Set(ids.map(idOf)).size).toBe(4);
    for (const id of ids.map(idOf)) expect(id).toMatch(/^\w+$/);
  });

  test("matches as its pattern says, whatever the text", () => {
    const glob = fc.array(fc.constantFrom("a", "b", "*", ".", "\\"), { maxLength: 8 }).map((p) => p.join(""));
    const text = fc.array(fc.constantFrom("a", "b", ".", "\\"), { maxLength: 12 }).map((p) => p.join(""));
    fc.assert(
      fc.property(glob, text, (tool, name) => {
        const expected = new RegExp(
          `^${tool
            .split("*")
            .map((part) => RegExp.escape(part))
            .join(".*")}$`,
        ).test(name);
        const result = createPolicy([{ tool, action: "deny" }], "allow")({ name, effect: "read" }, {});
        expect(result.action).toBe(expected ? "deny" : "allow");
      }),
    );
  });
});

describe("A script", () => {
  test("is never judged more mildly than any of its commands", () => {
    const order: ToolAction[] = ["allow", "ask", "deny"];
    const commands = fc.constantFrom(
      "ls",
      "ls -l",
      "git status",
      "git pull",
      "rm x",
      "cat 'a;b'",
      "git push",
    );
    const joins = fc.constantFrom("; ", " && ", " || ", " | ", "\n", " & ");
    fc.assert(
      fc.property(fc.array(fc.tuple(commands, joins), { minLength: 1, maxLength: 6 }), (parts) => {
        const script = parts.map(([command, join]) => command + join).join("") + "ls";
        const worst = Math.max(...parts.map(([command]) => order.indexOf(judge(listed, command, "ask"))));
        expect(judge(listed, script, "ask")).toBe(order[worst]);
      }),
    );
  });
});
