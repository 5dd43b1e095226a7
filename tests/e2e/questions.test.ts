import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { useSetting } from "./hooks.ts";

const here = useSetting();

const settings = `
tools:
  rules:
    - { tool: record_note, action: ask, why: Notes are for everybody. }
queue: { lockSeconds: 2 }
demo:
  scripts: scripts
`;

const script = `
steps:
  - calls:
      - tool: record_note
        input: { content: "The sky is blue." }
      - tool: ask_user
        input: { question: "Which colour?", choices: [Red, Blue] }
  - text: "{{result:2}} / {{result:1}}"
`;

/** Writes what the program reads in its folder. */
async function prepare(): Promise<void> {
  await mkdir(join(here.place.folder, "scripts"));
  await writeFile(join(here.place.folder, "heddle.yaml"), settings);
  await writeFile(join(here.place.folder, "scripts", "all.yaml"), script);
}

async function serve() {
  const program = here.place.start(["start"], { REDIS_URL: here.redis.path });
  const line = await program.line(/console +http/);
  return { program, thread: `${(line.trim().split(/ +/)[1] ?? "").replace(/\/$/, "")}/api/threads/colours1` };
}

const post = (url: string, body: object) =>
  fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  }).then((response) => response.json());

/** The first message of the thread, as the console's page sees it, that this is true for. */
async function shown(thread: string, isIt: (message: Message) => boolean): Promise<Message> {
  const response = await fetch(thread.replace("threads/", "events?thread="));
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    for (const [, event, data] of text.matchAll(/^event: (conversation|message)\ndata: (.*)\n/gm)) {
      // What the page reads.
      const value = JSON.parse(data ?? "") as Message & { messages: Message[] };
      const found = (event === "message" ? [value] : value.messages).find(isIt);
      if (found) return found;
    }
  }
  throw new Error("The stream ended.");
}

interface Message {
  id: string;
  markdown?: string;
  actions?: { id: string; label: string }[];
}

const button = (message: Message, label: string) =>
  message.actions?.find((action) => action.label === label)?.id ?? "";

test("an approval for the thread and an answer are waited for across a crash of the whole program", async () => {
  await prepare();
  const first = await serve();
  await post(`${first.thread}/messages`, { text: "note it", key: "12345678" });
  const approval = await shown(first.thread, (message) => button(message, "Approve") !== "");
  expect(approval.markdown).toContain("Notes are for everybody.");
  first.program.signal("SIGKILL");
  await first.program.ended;

  const { thread } = await serve();
  const press = (message: Message, label: string) =>
    post(`${thread}/messages/${message.id}/actions`, { action: button(message, label) });
  expect(await press(approval, "Approve for this thread")).toMatchObject({ kind: "acted" });
  const choice = await shown(thread, (message) => button(message, "Blue") !== "");
  expect(await press(choice, "Blue")).toMatchObject({ kind: "acted" });
  const { markdown } = await shown(
    thread,
    (message) => message.markdown?.includes("answered: Blue") === true,
  );
  expect(markdown).not.toContain("DENIED");
  await shown(thread, ({ id, markdown: text, actions }) => {
    return (
      id === approval.id && text?.includes("**Approved for this thread** by") === true && !actions?.length
    );
  });

  await post(`${thread}/messages`, { text: "note it again", key: "12345679" });
  // Nothing is asked before it.
  const next = await shown(thread, ({ actions }) => (actions?.length ?? 0) > 1);
  expect(button(next, "Blue")).not.toBe("");
});

test("heddle run without anybody at the terminal denies what must be approved, and says that nobody answers", async () => {
  await prepare();
  const program = here.place.start(["run", "note it"], { REDIS_URL: here.redis.path });
  expect(await program.ended).toBe(0);
  expect(program.output()).toMatch(/May I run record_note\? Notes are for everybody\./);
  expect(program.output()).toMatch(
    /DENIED by .*Nobody is at the terminal to approve it\. \/ .* answered: Nobody/,
  );
});
