import { describe, expect, test } from "vitest";
import { type Workspace, workspaces } from "./workspace.ts";

const workspace = workspaces();

async function start({ use }: Workspace, command: string): Promise<string> {
  const { text } = await use("bash", { command, run_in_background: true });
  return /id (\S+), running\./.exec(text)?.[1] ?? "";
}

/** Starts a command and waits for its end. */
async function finished(space: Workspace, command: string): Promise<string> {
  const id = await start(space, command);
  await space.sandbox
    .jobs()
    .find((job) => job.id === id)
    ?.wait();
  return id;
}

describe("a background command", () => {
  test("has its status, runtime, exit code and output read", async () => {
    const space = await workspace();
    const id = await finished(space, "echo alpha; echo beta >&2; exit 4");
    const { status, text } = await space.use("bash_output", { id });
    expect(status).toBe("ok");
    expect(text).toMatch(
      new RegExp(`^${id} ended after [\\d.]+ s: exit code 4; bytes 0 to 11 of 11, next offset 11\n`),
    );
    expect(text.split("\n").toSorted()).toEqual(expect.arrayContaining(["alpha", "beta"]));
  });

  test("says how much of a long output is no longer kept, and shows what came last", async () => {
    const space = await workspace();
    const id = await finished(space, "yes boot | head -c 9000000; echo; echo ERROR: crashed");
    const kept = 8 * 1024 * 1024;
    const total = 9_000_016;
    const first = total - kept;
    const { text } = await space.use("bash_output", { id, offset: 100 });
    expect(text).toMatch(
      new RegExp(
        `; bytes ${first} to \\d+ of ${total}, next offset \\d+; ${first - 100} bytes before them were not kept\n`,
      ),
    );
    const last = await space.use("bash_output", { id, offset: total - 20 });
    expect(last.text).toMatch(
      new RegExp(`; bytes ${total - 20} to ${total} of ${total}, next offset ${total}\n`),
    );
    expect(last.text).toMatch(/\nERROR: crashed\n$/);
  });

  test("has its lines filtered, and nothing is used up by that", async () => {
    const space = await workspace();
    const id = await finished(space, "printf 'alpha\\nbeta\\ngamma\\n'");
    const filtered = await space.use("bash_output", { id, filter: "^be|xyz" });
    expect(filtered.text.split("\n").slice(1)).toEqual(["beta", ""]);
    const all = await space.use("bash_output", { id });
    expect(all.text.split("\n").slice(1)).toEqual(["alpha", "beta", "gamma", ""]);
    const rest = await space.use("bash_output", { id, offset: 6 });
    expect(rest.text.split("\n").slice(1)).toEqual(["beta", "gamma", ""]);
  });

  test("says when no line matches", async () => {
    const space = await workspace();
    const id = await finished(space, "echo alpha");
    expect((await space.use("bash_output", { id, filter: "beta" })).text).toMatch(/\(no line matches\)$/);
  });

  test("refuses a filter that is no regular expression", async () => {
    const space = await workspace();
    const id = await finished(space, "echo alpha");
    const { status, text } = await space.use("bash_output", { id, filter: "a(b'" });
    expect(status).toBe("error");
    expect(text).toMatch(/^INVALID_PARAM: the filter did not work: .*Nothing was read\.$/);
  });

  test("is read line by line while it runs", async () => {
    const space = await workspace();
    const id = await start(space, "echo first; printf unfinished; read < <(sleep 60)");
    const job = space.sandbox.jobs().find((known) => known.id === id);
    const text = await expect
      .poll(async () => (await job?.read(0, 100))?.data.toString(), { interval: 5 })
      .toBe("first\nunfinished")
      .then(async () => (await space.use("bash_output", { id })).text);
    expect(text).toMatch(/is running for [\d.]+ s; bytes 0 to 6 of 16, next offset 6\nfirst\n$/);
    expect((await space.use("bash_output", { id, offset: 6 })).text).toMatch(/\nunfinished$/);
    await job?.kill();
  });

  test("is killed with everything that it started", async () => {
    const space = await workspace();
    const id = await start(space, "setsid sleep 61 & sleep 31; true");
    const { status, text } = await space.use("bash_kill", { id });
    expect(status).toBe("ok");
    expect(text).toMatch(
      new RegExp(
        `^${id} ended after [\\d.]+ s: killed \\(SIGKILL\\); \\d+ processes ended, 0 survived; 0 bytes`,
      ),
    );
    expect(await space.sandbox.killAll()).toMatchObject({ processes: 0, survivors: 0 });
    expect((await space.use("bash_kill", { id })).text).toMatch(/nothing to end$/);
  });

  test("of another thread is unknown, and only this thread's ids are named", async () => {
    const [mine, others] = [await workspace(), await workspace()];
    const foreign = await finished(others, "true");
    const none = await mine.use("bash_output", { id: foreign });
    expect(none).toMatchObject({
      status: "error",
      text: `This thread has no background command "${foreign}"; there are none.`,
    });
    const own = await finished(mine, "true");
    const { text } = await mine.use("bash_kill", { id: "nope" });
    expect(text).toBe(`This thread has no background command "nope"; known ones: ${own} (ended).`);
  });
});
