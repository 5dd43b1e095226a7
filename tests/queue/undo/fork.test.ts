import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { keys } from "../../../src/queue/redis/keys.ts";
import { createOverview } from "../../../src/queue/session/lists/overview.ts";
import { shutdown } from "../../../src/queue/turns/turn-worker.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";
import { openUndoHost } from "./undo-host.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

const bash = (command: string) => ({ calls: [{ name: "bash", input: { command } }] });

async function afterTwoTurns() {
  const host = await openUndoHost(server);
  closers.push(() => host.close());
  await host.says("make a", [bash("echo one >a"), { text: "Made." }]);
  await host.run();
  const first = await host.conversation();
  await host.says("make b", [bash("echo b >b"), { text: "Made, too." }]);
  await host.run();
  /** The thread that was opened. */
  const forked = () => {
    const opened = host.chat.shown.find(({ message }) => message.markdown.startsWith("⑂ **Fork**"));
    if (!opened) throw new Error("No thread was opened.");
    return `memory:w:${host.place.channel}:${opened.ref.message}`;
  };
  return { ...host, first, forked };
}

describe("a fork", () => {
  test("is a new thread with the conversation and a copy of the files", async () => {
    const host = await afterTwoTurns();
    const before = await host.conversation();
    await host.says("!fork");
    await host.run();
    expect(host.last()).toBe(
      "⑂ A new thread in this channel goes on from after “make b”. This one stays as it is.",
    );
    expect(await host.conversation(host.forked())).toEqual(before);
    expect(await host.shell("head *", host.forked())).toBe(await host.shell("head *"));
    await host.shell("echo other >a", host.forked());
    expect(await host.shell("cat a")).toBe("one");
    expect(await host.conversation()).toEqual(before);
    expect(host.audited.map(({ action }) => action)).toEqual(["thread-forked"]);
    expect(host.problems).toEqual([]);
  });

  test("of a thread of the console is not said to be in a channel", async () => {
    const thread = { platform: "local", workspace: "console", channel: "main", thread: "0123456789abcdef" };
    const host = await openUndoHost(server, { thread });
    closers.push(() => host.close());
    await host.says("make a", [bash("echo a >a"), { text: "Made." }]);
    await host.run();
    expect(await host.says("!fork")).toMatchObject({
      reply: "I begin a new thread with a copy of conversation and files.",
    });
    await host.run();
    expect(host.last()).toBe("⑂ A new thread goes on from after “make a”. This one stays as it is.");
  });

  test("goes on from before the last turns where people say how many", async () => {
    const host = await afterTwoTurns();
    await host.says("!fork 1");
    await host.run();
    expect(await host.conversation(host.forked())).toEqual(host.first);
    expect(await host.shell("ls", host.forked())).toBe("a");
    expect(await host.shell("ls")).toBe("a\nb");
  });

  test("holds up no worker that ends while the platform is silent, and is done by the next", async () => {
    const host = await afterTwoTurns();
    const { surface } = host.chat;
    const { openThread } = surface;
    const ending = new AbortController();
    surface.openThread = () => {
      ending.abort(shutdown);
      return new Promise(() => {});
    };
    await host.says("!fork");
    expect(await host.run(undefined, ending.signal)).toBe("handover");
    expect(host.shown().some(({ markdown }) => /Nothing was undone|Fork/.test(markdown))).toBe(false);
    if (openThread) surface.openThread = openThread;
    await host.run();
    expect(await host.shell("ls", host.forked())).toBe("a\nb");
    expect(host.problems).toEqual([]);
  });

  test.each([
    [
      "the disk is full",
      { ok: false, why: "the disk of this host is nearly full" },
      "the disk of this host is nearly full",
    ],
    [
      "it throws",
      new Error("It is broken."),
      "its files could not be copied, because of an error that the log of this host tells of",
    ],
  ])(
    "whose files cannot be copied leaves no half of it, and says so in both threads, as where %s",
    async (_, fails, why) => {
      const host = await afterTwoTurns();
      const { checkpoints } = host.backend;
      host.backend.checkpoints = async () => ({
        ...((await checkpoints?.()) ?? expect.fail()),
        copy: async () => {
          if (fails instanceof Error) throw fails;
          return fails;
        },
      });
      await host.says("!fork");
      await host.run();
      const [opening, told] = host.chat.shown.slice(-2);
      expect(told?.message.markdown).toBe(
        `I cannot fork this: ${why}. The thread that I have begun for it is no fork.`,
      );
      expect(opening?.message.markdown).toBe(
        `⑂ **No fork** by Ada: ${why}. I know nothing here of another thread, where the work goes on.`,
      );
      const thread = `memory:w:${host.place.channel}:${opening?.ref.message}`;
      expect(await host.redis.keys(`*${thread}*`)).toEqual([]);
      expect(await host.redis.exists(keys.reference(opening?.ref ?? expect.fail()))).toBe(0);
      expect(host.problems).toEqual(fails instanceof Error ? [fails] : []);
    },
  );

  test("is none where somebody has begun something in its thread before the files were there", async () => {
    const host = await afterTwoTurns();
    const { checkpoints } = host.backend;
    host.backend.checkpoints = async () => {
      const own = (await checkpoints?.()) ?? expect.fail();
      return {
        ...own,
        async copy(...request) {
          const thread = host.forked().split(":").at(-1);
          await host.says("be quick", [bash("echo mine >mine"), { text: "I was." }], "Bea", thread);
          await host.run(host.forked());
          return own.copy(...request);
        },
      };
    };
    await host.says("!fork");
    await host.run();
    const thread = `memory:w:${host.place.channel}:${host.chat.shown.find(({ message }) => message.markdown.startsWith("⑂"))?.ref.message}`;
    expect(JSON.stringify(await host.conversation(thread))).toContain("I was.");
    expect(await host.shell("ls", thread)).toBe("mine");
    expect(host.last()).toBe(
      "I cannot fork this: somebody has already begun something in the new thread. The thread that I have begun for it is no fork.",
    );
  });

  test("answers in its thread with what it knows", async () => {
    const host = await afterTwoTurns();
    await host.says("!fork 1");
    await host.run();
    const thread = host.forked().split(":").at(-1) ?? "";
    await host.says("go on there", [], "Ada", thread);
    await host.run(host.forked());
    const request = JSON.stringify(host.requests.at(-1)?.messages);
    expect(request).toContain("make a");
    expect(request).not.toContain("make b");
  });

  test("is listed before anybody has written in it, by the name of its origin and its number", async () => {
    const host = await afterTwoTurns();
    const titles: (string | undefined)[] = [];
    const { openThread } = host.chat.surface;
    host.chat.surface.openThread = async (channel, markdown, key, since, title) => {
      titles.push(title);
      if (!openThread) throw new Error("The chat opens threads.");
      return openThread(channel, markdown, key, since);
    };
    await host.says("!fork");
    await host.run();
    await host.says("!fork 1", [], "Bea");
    await host.run();
    expect(titles).toEqual(["make a (fork)", "make a (fork 2)"]);
    const lines = await createOverview(host.redis).lines(10);
    const own = lines.filter(({ thread }) => thread.startsWith(`memory:w:${host.place.channel}:`));
    expect(own.map(({ text, author }) => [text, author])).toEqual(
      expect.arrayContaining([
        ["make a", "Ada"],
        ["make a (fork)", "Ada"],
        ["make a (fork 2)", "Bea"],
      ]),
    );
    await host.says("go on there", [], "Ada", host.forked().split(":").at(-1));
    await host.run(host.forked());
    expect(await createOverview(host.redis).line(host.forked())).toMatchObject({ text: "make a (fork)" });
  });

  test("and its origin lead to each other where the platform has addresses of threads", async () => {
    const host = await afterTwoTurns();
    host.chat.surface.addressOf = ({ thread }) => `#/t/${thread}`;
    await host.says("!fork");
    await host.run();
    const fork = host.forked().split(":").at(-1);
    expect(host.last()).toBe(
      `⑂ [A new thread](#/t/${fork}) goes on from after “make b”. This one stays as it is.`,
    );
    expect(host.shown().map(({ markdown }) => markdown)).toContain(
      `⑂ **Fork** by Ada: this goes on from [another thread](#/t/${host.place.thread}), after “make b”.`,
    );
  });

  test("of nothing is refused", async () => {
    const host = await openUndoHost(server);
    closers.push(() => host.close());
    expect(await host.says("!fork")).toEqual({
      kind: "refused",
      reply: "There is nothing to fork here: ask me for something first.",
    });
  });
});
