import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { useSetting } from "./hooks.ts";

const here = useSetting();

const settings = `
queue: { lockSeconds: 2 }
egress: { allow: [example.com] }
demo:
  scripts: scripts
`;

const script = `
steps:
  - calls:
      - tool: bash
        input: { command: "echo 1 > a.txt; rm -rf kept; touch /workspace/b.txt; ls /workspace" }
      - tool: write_file
        input: { path: c.txt, content: "1" }
      - tool: bash
        input: { command: 'git ls-remote http://example.com/shop.git 2>&1; echo "reached=$? proxy=[$http_proxy$HTTP_PROXY]"' }
      - tool: schedule
        input: { action: create, task: later, in_minutes: 60 }
      - tool: bash
        input: { command: "sleep 100", run_in_background: true }
  - calls:
      - tool: propose_plan
        input: { plan: "I write a file.", files: [d.txt] }
  - calls:
      - tool: bash
        input: { command: 'ls -A; touch d.txt e.txt; echo "proxy=[$http_proxy$HTTP_PROXY]"' }
  - text: "{{result:1}}"
`;

interface Message {
  id: string;
  markdown?: string;
  footer?: string;
  actions?: { id: string; label: string }[];
}

async function serve() {
  const program = here.place.start(["start"], { REDIS_URL: here.redis.path });
  const line = await program.line(/console +http/);
  const api = `${(line.trim().split(/ +/)[1] ?? "").replace(/\/$/, "")}/api`;
  const post = async (path: string, body: object) => {
    const response = await fetch(`${api}/threads/planned1/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return response.json();
  };
  /** The first message of the thread, as the console's page sees it, that this is true for. */
  const shown = async (isIt: (message: Message) => boolean): Promise<Message> => {
    const response = await fetch(`${api}/events?thread=planned1`);
    let text = "";
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString();
      for (const [, event, data] of text.matchAll(/^event: (conversation|message)\ndata: (.*)\n/gm)) {
        const value = JSON.parse(data ?? "") as Message & { messages: Message[] };
        const found = (event === "message" ? [value] : value.messages).find(isIt);
        if (found) return found;
      }
    }
    throw new Error("The stream ended.");
  };
  const timeline = async () => (await fetch(`${api}/sessions/local:console:main:planned1/timeline`)).text();
  return { program, post, shown, timeline };
}

const button = (message: Message, label: string) =>
  message.actions?.find((action) => action.label === label)?.id ?? "";

test("a model that writes while it should plan changes nothing, and works once its plan is approved, also after a crash", async () => {
  await mkdir(join(here.place.folder, "scripts"));
  await writeFile(join(here.place.folder, "heddle.yaml"), settings);
  await writeFile(join(here.place.folder, "scripts", "all.yaml"), script);
  const first = await serve();
  await first.post("messages", { text: "!plan write a file", key: "12345678" });
  const plan = await first.shown((message) => button(message, "Work") !== "");
  expect(plan.markdown).toMatch(
    /The plan\.\*\* Nothing is changed yet\.\n\nI write a file\.\n\nFiles: `d\.txt`/,
  );
  const tried = await first.timeline();
  expect(tried).toContain("Read-only file system");
  // Nothing can be pushed, for nothing can be reached, though the host is one of those that the operator allows.
  expect(tried).toMatch(/reached=(?!0)\d+ proxy=\[\]/);
  expect(tried.match(/DENIED: \w+ was not run: a plan comes first/g)).toHaveLength(3);
  first.program.signal("SIGKILL");
  await first.program.ended;

  const second = await serve();
  expect(await second.post(`messages/${plan.id}/actions`, { action: button(plan, "Work") })).toMatchObject({
    kind: "acted",
  });
  const answer = await second.shown((message) => message.footer?.includes("beyond the plan") === true);
  // What `ls -A` has found: nothing that was tried before, in a workspace that can be written now.
  expect(answer.markdown).toMatch(/exit code 0\s+(?:\.heddle\s+)?proxy=\[http:/);
  expect(answer.footer).toMatch(/files changed: d\.txt, e\.txt · file beyond the plan: e\.txt/);
});
