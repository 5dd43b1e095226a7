import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createPolicy, type ToolRule } from "../../../src/agent/policy/policy.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import type { RestoreStep } from "../../../src/sandbox/checkpoints/thread-checkpoints.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";
import { bounded } from "../../faults/extent.ts";
import { openUndoHost, type UndoHostOptions } from "./undo-host.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function open(options?: UndoHostOptions) {
  const host = await openUndoHost(server, options);
  closers.push(() => host.close());
  return host;
}

const bash = (command: string) => ({ calls: [{ name: "bash", input: { command } }] });

/** A thread with two turns that have written. */
async function afterTwoTurns(options?: UndoHostOptions) {
  const host = await open(options);
  await host.says("make a", [bash("echo one >a"), { text: "Made." }]);
  await host.run();
  const before = { conversation: await host.conversation(), files: await host.shell("head *") };
  await host.says("make b", [bash("echo two >a; echo b >b; git push origin main"), { text: "Made, too." }]);
  await host.run();
  const after = { conversation: await host.conversation(), files: await host.shell("head *") };
  const state = async () => ({
    conversation: await host.conversation(),
    files: await host.shell("head *"),
  });
  return { ...host, before, after, state };
}

describe("an undo", () => {
  test("says first what it would change and what stays done, and then brings both back", async () => {
    const host = await afterTwoTurns();
    expect(await host.says("!undo")).toMatchObject({ kind: "acted" });
    await host.run();
    expect(host.last()).toBe(
      [
        "**Undo the last turn?** “make b”",
        [
          "- **Files**: 1 file reverts to its earlier content (`a`; 4 B), 1 new file is deleted (`b`).",
          "- **Conversation**: I forget 1 turn; its messages stay here for you to read.",
          "- **Not undone**: a push (`git push origin main`), what commands have sent over the network; what was used of a budget.",
          "- Until the next message you can take the undo back.",
        ].join("\n"),
      ].join("\n\n"),
    );
    expect(await host.state()).toEqual(host.after);

    await host.presses("Undo");
    await host.run();
    expect(await host.state()).toEqual(host.before);
    expect(host.last()).toContain("↩️ **Undone** by Ada: “make b”.");
    expect(host.audited.map(({ action }) => action)).toEqual(["turns-undone"]);
    expect(host.problems).toEqual([]);
    // What is done is taken off the head, and not left there empty.
    const head = await server.client().hgetall(keys.head(host.thread));
    expect(Object.entries(head).filter(([, value]) => value === "")).toEqual([]);
    expect(head).not.toHaveProperty("undo");

    // What the model is asked next knows nothing of it.
    await host.says("go on");
    await host.run();
    const request = JSON.stringify(host.requests.at(-1)?.messages);
    expect(request).toContain("make a");
    expect(request).not.toContain("make b");
  });

  test("names nothing as done that was denied, and no push that is none", async () => {
    const rules: ToolRule[] = [
      { tool: "bash", command: "git push*", action: "deny" },
      { tool: "record_note", action: "deny" },
    ];
    const host = await open({ policy: createPolicy(rules, "allow") });
    await host.says("make b", [
      bash("git push origin main"),
      { calls: [{ name: "record_note", input: { content: "It is made." } }] },
      bash("echo b >b; echo git commit -m 'to push later' | cat; git stash push || true"),
      { text: "Made." },
    ]);
    await host.run();
    await host.says("!undo");
    await host.run();
    expect(host.last()).toContain(
      "- **Not undone**: what commands have sent over the network; what was used of a budget.",
    );
  });

  test("is taken back by its button until something else happens", async () => {
    const host = await afterTwoTurns();
    await host.says("!undo");
    await host.run();
    await host.presses("Undo");
    await host.run();
    expect(await host.presses("Take the undo back", "Eve")).toMatchObject({ kind: "refused" });
    await host.presses("Take the undo back");
    await host.run();
    expect(await host.state()).toEqual(host.after);
    expect(host.last()).toContain("Ada took the undo back");

    await host.says("!undo");
    await host.run();
    await host.presses("Undo");
    await host.run();
    await host.says("something else");
    await host.run();
    await host.says("!redo");
    await host.run();
    expect(host.last()).toBe("The undo cannot be taken back any more: the conversation has gone on.");
  });

  test("of several turns goes back to before the first of them, undone ones left out", async () => {
    const host = await afterTwoTurns();
    await host.says("!undo 2");
    await host.run();
    expect(host.last()).toContain("**Undo the last 2 turns?**");
    await host.presses("Undo");
    await host.run();
    expect(await host.conversation()).toEqual([]);
    expect(await host.shell("ls -A")).toBe("");
    await host.says("!undo");
    await host.run();
    expect(host.last()).toBe("There is nothing to undo in this thread.");
  });

  test("by the button of an answer goes back to before its turn, and a turn that wrote nothing has none", async () => {
    const host = await afterTwoTurns();
    await host.says("and?", [{ text: "That was all." }]);
    await host.run();
    const offering = host
      .shown()
      .filter(({ actions = [] }) => actions.some(({ label }) => label === "Undo…"));
    expect(offering.map(({ markdown }) => markdown)).toEqual(["Made.", "Made, too."]);

    expect(await host.presses("Undo…")).toMatchObject({ kind: "acted" });
    await host.run();
    expect(host.last()).toContain("**Undo the last 2 turns?**\n\n- “make b”\n- “and?”");
    await host.presses("Undo");
    await host.run();
    expect(await host.state()).toEqual(host.before);

    // It is no longer there to be undone; what came before it still is.
    await host.presses("Undo…");
    await host.run();
    expect(host.last()).toBe("That turn was undone already, or is too far back.");
  });

  test("is for those who asked, and for administrators", async () => {
    const host = await afterTwoTurns();
    await host.says("!undo", [], "Eve");
    await host.run();
    expect(await host.presses("Undo", "Eve")).toEqual({
      kind: "refused",
      reply: "You may not undo this: only the person who asked for it, or an administrator.",
    });
    await host.presses("Leave it as it is");
    await host.run();
    expect(host.last()).toBe("Nothing was undone.");
    expect(await host.state()).toEqual(host.after);
  });

  test("is refused while work is under way, while messages wait, and when something happened since", async () => {
    const host = await afterTwoTurns();
    await host.says("!undo");
    await host.run();
    await host.says("more work");
    expect(await host.presses("Undo")).toMatchObject({
      kind: "refused",
      reply: expect.stringContaining("wait"),
    });
    await host.run();
    await host.presses("Undo");
    await host.run();
    expect(host.last()).not.toContain("Undone");
    await host.redis.hset(keys.head(host.thread), "status", "running");
    expect(await host.says("!undo")).toEqual({
      kind: "refused",
      reply: "Work is under way here. Stop it first (`stop`), then ask again.",
    });
  });

  test("is not done where files have changed since it was shown", async () => {
    const host = await afterTwoTurns();
    await host.says("!undo");
    await host.run();
    await host.shell("echo by hand >c");
    await host.presses("Undo");
    await host.run();
    expect(host.last()).toBe("Nothing was undone: files have changed since. Ask again with `!undo`.");
    expect(await host.conversation()).toEqual(host.after.conversation);
  });

  test("says why it cannot be where the files were too large to be kept", async () => {
    const host = await open({ checkpoints: { bytes: 1_000 } });
    await host.says("fill", [bash("head -c 5000 /dev/zero >big"), { text: "Filled." }]);
    await host.run();
    await host.says("empty", [bash("rm big"), { text: "Emptied." }]);
    await host.run();
    await host.says("!undo");
    await host.run();
    expect(host.last()).toBe(
      "I cannot undo this, since files and conversation go back together: the workspace has 1 MB, and up to 1 MB are kept (undo.megabytes).",
    );
  });

  test.each([
    [
      "can be taken back where there is room for both",
      900_000,
      "Until the next message you can take the undo back",
    ],
    ["says that it cannot be taken back where there is not", 1_200_000, "**This cannot be taken back**"],
  ])("of large files is possible after its preview, and %s", async (_, bytes, told) => {
    const host = await open({ checkpoints: { bytes: 2_097_152 } });
    for (const name of ["one", "two", "three"]) {
      await host.says(`make ${name}`, [
        bash(`head -c ${bytes} /dev/urandom >big; echo ${name} >name`),
        { text: "Made." },
      ]);
      await host.run();
    }
    await host.says("!undo");
    await host.run();
    expect(host.last()).toContain("- **Files**: 2 files revert to their earlier content (`big`, `name`;");
    expect(host.last()).toContain(told);
    await host.presses("Undo");
    await host.run();
    expect(host.last()).toContain("↩️ **Undone** by Ada: “make three”. Files: 2 files reverted");
    expect(await host.shell("cat name")).toBe("two");
  });

  test("of a turn that wrote nothing leaves the files alone", async () => {
    const host = await afterTwoTurns();
    await host.says("just talk", [{ text: "Hello." }]);
    await host.run();
    await host.says("!undo");
    await host.run();
    expect(host.last()).toContain("- **Files**: none of them changed.");
    await host.presses("Undo");
    await host.run();
    expect(await host.state()).toEqual(host.after);
  });
});

/** Behind them the worker stands still here; killed-undo.test.ts kills it there. */
const allSteps: RestoreStep[] = ["filled", "committed", "moved-away", "moved-in", "noted", "saved"];
const steps = bounded ? allSteps.filter((step) => step === "moved-away") : allSteps;

describe("files and conversation go together", () => {
  test.each(steps)("where the worker dies behind “%s”", async (at) => {
    const { promise: died, resolve } = Promise.withResolvers<void>();
    const reached = (step: RestoreStep) =>
      step === at ? (resolve(), new Promise<void>(() => {})) : Promise.resolve();
    const first = await afterTwoTurns({ checkpoints: { reached } });
    await first.says("!undo");
    await first.run();
    await first.presses("Undo");
    void first.run();
    await died;

    const second = await open({ dataDir: first.dataDir, chat: first.chat, thread: first.place });
    await second.run();
    expect(await second.conversation()).toEqual(first.before.conversation);
    expect(await second.shell("head *")).toBe(first.before.files);
    expect(second.last()).toContain("↩️ **Undone** by Ada");
    expect(await second.redis.hmget(keys.head(second.thread), "undo", "restoring")).toEqual([null, null]);
  });

  test.each(steps)("where the worker dies behind “%s” while an undo is taken back", async (at) => {
    const { promise: died, resolve } = Promise.withResolvers<void>();
    let isTakenBack = false;
    const reached = (step: RestoreStep) =>
      isTakenBack && step === at ? (resolve(), new Promise<void>(() => {})) : Promise.resolve();
    const first = await afterTwoTurns({ checkpoints: { reached } });
    await first.says("!undo");
    await first.run();
    await first.presses("Undo");
    await first.run();
    expect(await first.state()).toEqual(first.before);
    isTakenBack = true;
    await first.says("!redo");
    void first.run();
    await died;

    const second = await open({ dataDir: first.dataDir, chat: first.chat, thread: first.place });
    await second.run();
    expect(await second.conversation()).toEqual(first.after.conversation);
    expect(await second.shell("head *")).toBe(first.after.files);
    expect(await second.redis.hmget(keys.head(second.thread), "undo", "restoring")).toEqual([null, null]);
  });

  test.each<RestoreStep>(["filled", "committed", "moved-away"])(
    "also where the worker stands still behind “%s” and goes on when another has taken over",
    async (at) => {
      const [stood, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const reached = async (step: RestoreStep) => {
        if (step !== at) return;
        stood.resolve();
        await goOn.promise;
      };
      const first = await afterTwoTurns({ checkpoints: { reached } });
      await first.says("!undo");
      await first.run();
      await first.presses("Undo");
      const late = first.run();
      await stood.promise;

      const second = await open({ dataDir: first.dataDir, chat: first.chat, thread: first.place });
      await second.run();
      await second.says("make c", [bash("echo three >c"), { text: "Made c." }]);
      await second.run();
      const after = await second.conversation();
      goOn.resolve();
      expect(await late).toBe("lost");
      expect(await second.shell("head *")).toContain("three");
      expect(await second.conversation()).toEqual(after);
    },
  );

  test("also where the snapshot cannot be read", async () => {
    const host = await afterTwoTurns();
    await host.says("!undo");
    await host.run();
    await host.presses("Undo");
    await host.run();
    await host.redis.lset(keys.snapshot(host.thread), 0, "{");
    expect(await host.conversation()).toEqual(host.before.conversation);
  });
});
