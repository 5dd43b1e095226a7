import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { useSetting } from "./hooks.ts";

const here = useSetting();

const settings = `
tools:
  rules:
    - { tool: bash, command: "git push*", action: deny, why: Pushing is for people. }
queue: { hangSeconds: 4 }
demo:
  scripts: scripts
`;

/** Wrappers of commands within wrappers: each word may begin another command to judge. */
const costly = "watch script flock su ssh parallel eval xargs sudo ".repeat(2_300);

const script = `
steps:
  - calls:
      - tool: bash
        input: { command: ${JSON.stringify(costly)} }
      - tool: bash
        input: { command: "echo innocent" }
  - text: "{{result:2}} / {{result:1}}"
`;

test("a command that takes the longest to judge gets the strictest verdict, and holds up no worker", async () => {
  await mkdir(join(here.place.folder, "scripts"));
  await writeFile(join(here.place.folder, "heddle.yaml"), settings);
  await writeFile(join(here.place.folder, "scripts", "all.yaml"), script);
  const program = here.place.start(["start"], { REDIS_URL: here.redis.path });
  const line = await program.line(/console +http/);
  const api = `${(line.trim().split(/ +/)[1] ?? "").replace(/\/$/, "")}/api`;
  const sent = await fetch(`${api}/threads/pushes01/messages`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ text: "push it", key: "12345678" }),
  });
  expect(sent.ok).toBe(true);
  await expect
    .poll(async () => (await fetch(`${api}/sessions/local:console:main:pushes01/timeline`)).text(), {
      timeout: 60_000,
    })
    .toMatch(/Pushing is for people\. \/ exit code 0/);
  expect(program.output()).not.toContain("did not respond");
  program.signal("SIGTERM");
  expect(await program.ended).toBe(0);
});
