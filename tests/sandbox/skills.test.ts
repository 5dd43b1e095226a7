import { chmodSync, cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test, vi } from "vitest";
import { createGetSkillTool } from "../../src/agent/skills/get-skill.ts";
import { createSkillLibrary } from "../../src/agent/skills/library.ts";
import { provideSkillFolder } from "../../src/agent/skills/skill-folder.ts";
import { createSandboxTools } from "../../src/agent/tools/built-in.ts";
import { createBubblewrapBackend } from "../../src/sandbox/bubblewrap/backend.ts";
import { dispatcherOf, memoryNotes, run } from "../agent/tools/services.ts";
import { closedFolder, dataFolder } from "./two-threads.ts";

const shipped = fileURLToPath(new URL("../../skills", import.meta.url));
const leftovers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const clean of leftovers.splice(0)) await clean();
});

/** A thread of a worker with these skills, used as the model does. */
async function threadWith(folder: string) {
  const dataDir = dataFolder();
  const skills = createSkillLibrary({ folders: [folder] });
  await skills.current();
  const backend = createBubblewrapBackend({ dataDir, readOnly: skills.mounts });
  leftovers.push(async () => {
    await backend.close();
    rmSync(dataDir, { recursive: true });
  });
  const sandbox = await backend.open("a:b:c:d");
  const provided = provideSkillFolder(sandbox, (await skills.current()).skills);
  const services = { sandbox: provided, notes: memoryNotes(), now: Date.now };
  const dispatcher = dispatcherOf({ tools: createSandboxTools(), services });
  return { skills, use: (tool: string, input: unknown) => run(dispatcher, tool, input) };
}

/** A copy of the shipped skills where only the bot's own user can go. */
function hiddenSkills(): string {
  const folder = closedFolder();
  leftovers.push(() => rmSync(folder, { recursive: true }));
  cpSync(join(shipped, "csv-report"), join(folder, "csv-report"), { recursive: true });
  chmodSync(join(folder, "csv-report/scripts/csv.mts"), 0o700);
  return folder;
}

const profile = {
  command:
    "printf 'id,amount\\n1,20\\n2,40\\n' >orders.csv; node /skills/csv-report/scripts/csv.mts profile orders.csv",
};

test("a skill's script runs at the path that the skill names", async () => {
  const { use } = await threadWith(shipped);
  const { status, text } = await use("bash", profile);
  expect([status, text]).toEqual(["ok", expect.stringMatching(/^exit code 0\n[\s\S]*amount/)]);
});

test("the commands of a skill run as the model reads them", async () => {
  const folder = closedFolder();
  leftovers.push(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "tea/scripts"), { recursive: true });
  const commands = ["python scripts/a.py", "bash ./scripts/b.sh", "node $SKILL_DIR/scripts/c.mts"];
  writeFileSync(
    join(folder, "tea/SKILL.md"),
    `---\nname: tea\ndescription: d\n---\n${commands.map((command) => `- ${command}\n`).join("")}`,
  );
  writeFileSync(join(folder, "tea/scripts/a.py"), "print('python')");
  writeFileSync(join(folder, "tea/scripts/b.sh"), "echo shell");
  writeFileSync(join(folder, "tea/scripts/c.mts"), "console.log('node' as string)");
  const { skills, use } = await threadWith(folder);
  const tools = [createGetSkillTool((await skills.current()).skills)];
  const { text } = await run(dispatcherOf({ tools }), "get_skill", { name: "tea" });
  const read = [...text.matchAll(/^- ((?:python|bash|node) .*)$/gm)].map(([, command = ""]) => command);
  expect(read).toHaveLength(3);
  const ran = await use("bash", { command: `mkdir elsewhere; cd elsewhere; ${read.join(" && ")}` });
  expect(ran.text).toBe("exit code 0\npython\nshell\nnode");
});

test("a skill's own scripts find its folder in $SKILL_DIR, and a command of none finds nothing", async () => {
  const folder = closedFolder();
  leftovers.push(() => rmSync(folder, { recursive: true }));
  for (const name of ["tea", "cake"]) {
    mkdirSync(join(folder, name, "scripts"), { recursive: true });
    writeFileSync(
      join(folder, name, "SKILL.md"),
      `---\nname: ${name}\ndescription: d\n---\nRun scripts/a.sh\n`,
    );
    writeFileSync(join(folder, name, "scripts/a.sh"), 'bash "$SKILL_DIR/scripts/b.sh"');
    writeFileSync(join(folder, name, "scripts/b.sh"), 'echo "${SKILL_DIR##*/}"');
  }
  const { use } = await threadWith(folder);
  const command = "bash /skills/cake/scripts/a.sh; ls /skills/tea/scripts >/dev/null";
  expect((await use("bash", { command })).text).toBe("exit code 0\ncake");
  expect((await use("bash", { command: 'echo "[$SKILL_DIR]"' })).text).toBe("exit code 0\n[]");
  await use("bash", { command: "bash /skills/tea/scripts/a.sh >out", run_in_background: true });
  await vi.waitFor(async () => expect((await use("bash", { command: "cat out" })).text).toContain("tea"));
});

test("a skill's reference can be read and listed, and not written", async () => {
  const { use } = await threadWith(shipped);
  const path = "/skills/diff-review/references/checklist.md";
  expect(await use("read_file", { path })).toMatchObject({ status: "ok" });
  expect(await use("list_files", { path: "/skills/diff-review" })).toMatchObject({
    status: "ok",
    text: expect.stringContaining("checklist.md"),
  });
  expect(await use("write_file", { path: "/skills/diff-review/new.md", content: "x" })).toMatchObject({
    status: "error",
    text: expect.stringMatching(/read-only/),
  });
  const { text } = await use("bash", { command: `echo x >>${path}; rm ${path}` });
  expect(text).toMatch(/(Permission denied|Read-only file system)[\s\S]*Read-only file system/);
});

test("skills are there also when only the bot's own user can go where they are", async () => {
  const { use } = await threadWith(hiddenSkills());
  const { text } = await use("bash", profile);
  expect(text).toMatch(/^exit code 0\n/);
});

test("a changed skill is seen by the next command", async () => {
  const folder = hiddenSkills();
  const { skills, use } = await threadWith(folder);
  await use("bash", { command: "ls /skills" });
  writeFileSync(join(folder, "csv-report/added.txt"), "news");
  await skills.current();
  expect((await use("bash", { command: "cat /skills/csv-report/added.txt" })).text).toContain("news");
});
