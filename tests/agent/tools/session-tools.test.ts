import { describe, expect, test } from "vitest";
import { createSandboxTools, createSessionTools } from "../../../src/agent/tools/built-in.ts";
import { dispatcherOf, run } from "./services.ts";

const session = () => dispatcherOf({ tools: createSessionTools() });

describe("notes", () => {
  test("are recalled by category and by words", async () => {
    const notes = session();
    await run(notes, "record_note", { content: "Ann likes tabs", category: "user_preference" });
    await run(notes, "record_note", { content: "Deploys go out on Monday" });
    expect((await run(notes, "recall_notes", {})).text).toBe(
      "n1 [thread, user_preference] Ann likes tabs (Ann, 2023-11-14)\nn2 [thread, general] Deploys go out on Monday (Ann, 2023-11-14)",
    );
    expect((await run(notes, "recall_notes", { category: "general" })).text).toMatch(
      /^n2 \[thread, general\][^\n]*$/,
    );
    expect((await run(notes, "recall_notes", { query: "monday deploys" })).text).toMatch(/^n2[^\n]*$/);
  });

  test("say when there are none, and when none match", async () => {
    const notes = session();
    expect((await run(notes, "recall_notes", {})).text).toBe("There are no notes yet.");
    await run(notes, "record_note", { content: "x", category: "decision" });
    expect((await run(notes, "recall_notes", { category: "general" })).text).toBe(
      "No note matches. There are 1 notes, in: decision.",
    );
  });

  test("are recalled by words with accents in either form", async () => {
    const notes = session();
    await run(notes, "record_note", { content: "The CAFÉ".normalize("NFD") });
    for (const form of ["NFC", "NFD"])
      expect((await run(notes, "recall_notes", { query: "café".normalize(form) })).text).toMatch(/^n1 /);
  });

  test("are recalled by their scope", async () => {
    const notes = session();
    await run(notes, "record_note", { content: "of the thread" });
    await run(notes, "record_note", { content: "of the channel", scope: "channel" });
    expect((await run(notes, "recall_notes", { scope: "channel" })).text).toMatch(/^n2 \[channel, [^\n]*$/);
    expect((await run(notes, "record_note", { content: "x", scope: "world" })).text).toMatch(
      /^INVALID_PARAM: .*scope/,
    );
  });

  test("are changed by their id, and keep their category unless it is changed too", async () => {
    const notes = session();
    await run(notes, "record_note", { content: "tabs", category: "decision" });
    expect((await run(notes, "update_note", { id: "n1", content: "spaces" })).status).toBe("ok");
    expect((await run(notes, "recall_notes", {})).text).toMatch(/^n1 \[thread, decision\] spaces /);
    await run(notes, "update_note", { id: "n1", content: "spaces", category: "style" });
    expect((await run(notes, "recall_notes", { category: "style" })).text).toMatch(/^n1 /);
    expect((await run(notes, "update_note", { id: "n9", content: "x" })).text).toBe(
      'There is no note "n9" here; recall_notes shows the ids.',
    );
  });

  test("are refused when a scope is full of them", async () => {
    const notes = session();
    for (let n = 0; n < 200; n += 1) await run(notes, "record_note", { content: `fact ${n}` });
    expect((await run(notes, "record_note", { content: "one more" })).text).toMatch(/^There are 200 notes/);
    expect((await run(notes, "record_note", { content: "x", scope: "channel" })).status).toBe("ok");
  });

  test("are removed by their id", async () => {
    const notes = session();
    await run(notes, "record_note", { content: "wrong" });
    expect((await run(notes, "forget_note", { id: "n1" })).status).toBe("ok");
    expect((await run(notes, "forget_note", { id: "n1" })).status).toBe("error");
    expect((await run(notes, "recall_notes", {})).text).toBe("There are no notes yet.");
  });

  test("are refused when they are empty", async () => {
    expect((await run(session(), "record_note", { content: "  " })).text).toMatch(
      /^INVALID_PARAM: .*content/,
    );
  });
});

describe("the todo list", () => {
  test("is shown with its progress", async () => {
    const items = [
      { content: "read", status: "completed" },
      { content: "write", status: "in_progress" },
      { content: "test", status: "pending" },
    ];
    expect((await run(session(), "todo", { items })).text).toBe("1 of 3 done\n[x] read\n[>] write\n[ ] test");
  });

  test.each([
    [
      "two items in progress",
      [
        { content: "a", status: "in_progress" },
        { content: "b", status: "in_progress" },
      ],
    ],
    ["an item without content", [{ content: " ", status: "pending" }]],
    ["an unknown status", [{ content: "a", status: "paused" }]],
  ])("is refused with %s", async (_, items) => {
    expect((await run(session(), "todo", { items })).text).toMatch(
      /^INVALID_PARAM: todo was not run\. items/,
    );
  });
});

test("every tool can be offered to every provider", () => {
  const { definitions } = dispatcherOf({ tools: [...createSandboxTools(), ...createSessionTools()] });
  expect(definitions.map(({ name }) => name)).toEqual([
    "bash",
    "bash_output",
    "bash_kill",
    "read_file",
    "write_file",
    "edit_file",
    "list_files",
    "search_files",
    "attach_file",
    "record_note",
    "recall_notes",
    "update_note",
    "forget_note",
    "search_history",
    "schedule",
    "todo",
  ]);
});
