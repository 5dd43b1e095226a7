import { expect, test } from "vitest";
import { createToolList } from "../../src/progress/tool-list.ts";

test.each([
  ["exit code 2\nno such file", " · exit code 2"],
  ["exit code 139 (signal 11)\n(no output)", " · exit code 139 (signal 11)"],
  ["exit code 0\nfine", ""],
  ["TIMEOUT: ended after 3 s", ""],
])(
  "A command that ended with %j is shown with how it ended, where that was not with success",
  (text, shown) => {
    const list = createToolList({ withResults: false });
    list.start({ id: "c1", name: "bash", input: { command: "npm test" } }, "running");
    list.end({ role: "tool", callId: "c1", name: "bash", status: "ok", text });
    const [sign, state] = shown === "" ? ["✓", "ok"] : ["✗", "error"];
    expect(list.text()).toBe(`${sign} \`bash\` \`npm test\`${shown}`);
    expect(list.items()).toMatchObject([{ name: "bash", about: `npm test${shown}`, state }]);
  },
);

test("Only a command has an exit code, whatever other tools say", () => {
  const list = createToolList({ withResults: false });
  list.start({ id: "c1", name: "read_file", input: { path: "log" } }, "running");
  list.end({ role: "tool", callId: "c1", name: "read_file", status: "ok", text: "exit code 2\n" });
  expect(list.text()).toBe("✓ `read_file` `log`");
});
