import { expect, test } from "vitest";
import { createToolList } from "../../src/progress/tool-list.ts";

const mask = (text: string) => text;

test.each([
  ["exit code 2\nno such file", " · exit code 2"],
  ["exit code 139 (signal 11)\n(no output)", " · exit code 139 (signal 11)"],
  ["exit code 0\nfine", ""],
  ["TIMEOUT: ended after 3 s", ""],
])(
  "A command that ended with %j is shown with how it ended, where that was not with success",
  (text, shown) => {
    const list = createToolList({ withResults: false, mask });
    list.start({ id: "c1", name: "bash", input: { command: "npm test" } }, "running");
    list.end({ role: "tool", callId: "c1", name: "bash", status: "ok", text });
    const [sign, state] = shown === "" ? ["✓", "ok"] : ["✗", "error"];
    expect(list.text()).toBe(`${sign} \`bash\` \`npm test\`${shown}`);
    expect(list.items()).toMatchObject([{ name: "bash", about: `npm test${shown}`, state }]);
  },
);

test.each([
  ["denied" as const, "denied"],
  ["undecided" as const, "not run: nobody decided"],
])("A call that was never run (%s) is shown as that, and not as one that failed", (notRun, words) => {
  const list = createToolList({ withResults: false, mask });
  list.start({ id: "c1", name: "bash", input: { command: "git push" } }, "pending");
  const text = "DENIED by Ada; it was not run. No reason was given.";
  list.end({ role: "tool", callId: "c1", name: "bash", status: "error", notRun, text });
  expect(list.text()).toBe(`⊘ \`bash\` \`git push\` · ${words}`);
  // An older gateway, which does not know the field, reads what it knows.
  expect(list.items()).toMatchObject([{ about: "git push", state: "error", notRun }]);
});

test("Only a command has an exit code, whatever other tools say", () => {
  const list = createToolList({ withResults: false, mask });
  list.start({ id: "c1", name: "read_file", input: { path: "log" } }, "running");
  list.end({ role: "tool", callId: "c1", name: "read_file", status: "ok", text: "exit code 2\n" });
  expect(list.text()).toBe("✓ `read_file` `log`");
});

test("A result is text without a terminal's colours where nothing can be folded, and keeps them for who can show them", () => {
  const list = createToolList({ withResults: true, mask });
  list.start({ id: "c1", name: "bash", input: { command: "ls" } }, "running");
  const text = "exit code 0\n\u001b[34msrc\u001b[0m";
  list.end({ role: "tool", callId: "c1", name: "bash", status: "ok", text });
  expect(list.text()).toBe("✓ `bash` `ls`\n```\nexit code 0\nsrc\n```");
  expect(list.items()[0]?.result).toBe(text);
});
