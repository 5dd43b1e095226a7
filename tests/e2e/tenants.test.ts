import { writeFile } from "node:fs/promises";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createInstallations } from "../../src/adapters/slack/installation/installations.ts";
import { says } from "../fakes/anthropic-replies.ts";
import { type FakeModelServer, type FakeReply, startFakeAnthropic } from "../fakes/anthropic.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";
import { type FakeSlack, type Person, startFakeSlack } from "../fakes/slack/fake-slack.ts";
import { openFront } from "../fakes/slack/front.ts";
import type { FakeChannel, FakeMessage } from "../fakes/slack/workspace.ts";
import { modelEnvironment } from "./environment.ts";
import { newPlace, patienceMs, type Place } from "./program.ts";

/**
 * Two workspaces in one installation, whose ids of channels, people and threads are all the same, and whose people have
 * the same names. Slack promises less than that they differ: an id of a channel is "unique-to-the-team"
 * (https://docs.slack.dev/apis/web-api/using-the-conversations-api), one of a person "unique to the workspace"
 * (https://docs.slack.dev/reference/objects/user-object).
 *
 * In the first a thread has everything that a thread can have. From the second everything is tried against it.
 */

const kept = "kingfisher";
/** Where it is seen, with what stands around it. */
const leak = new RegExp(`.{0,80}${kept}.{0,80}`, "g");
const clientSecrets = {
  clientId: "1.2",
  clientSecret: "a client secret",
  stateSecret: "a secret of at least 32 characters",
};
const signingSecret = "8f742231b10e8888abcd99yyyzzz85a5";

let redis: TestRedis;
let place: Place;
let model: FakeModelServer;
let closeFront: () => Promise<void>;
let first: Tenant;
let second: Tenant;
/** The thread of the first: its first message, ids of what it has, the button of its question, and its state. */
let target: {
  root: FakeMessage;
  note: string;
  job: string;
  schedule: string;
  approve: string;
  before: Record<string, unknown>;
};

interface Tenant {
  slack: FakeSlack;
  ada: Person;
  general: FakeChannel;
}

async function openTenant(name: string): Promise<Tenant> {
  const slack = await startFakeSlack({
    ...{ teamId: `T0${name}`, botToken: `xoxb-token-of-${name}`, patienceMs },
  });
  return { slack, ada: slack.user("ada"), general: slack.channel("general") };
}

const calls = (...made: [name: string, input: object][]): FakeReply => ({
  content: made.map(([name, input]) => ({ type: "tool_use", name, input })),
});

/** Whoever claims a session leaves these; an idle worker may claim a parked one again. */
const ofClaims =
  /^(claim|claimedAt|claimedLength|confirmedAt|epoch|handover|holder|holderEpoch|stuck|told|write)$/;

/** All that Redis has of the first workspace. */
async function stateOfFirst(): Promise<Record<string, unknown>> {
  const client = redis.client();
  const state: Record<string, unknown> = {};
  for (const key of (await client.keys("heddle:{slack:T0ONE*")).toSorted()) {
    switch (await client.type(key)) {
      case "hash": {
        const fields = Object.entries(await client.hgetall(key)).filter(([name]) => !ofClaims.test(name));
        state[key] = Object.fromEntries(fields);
        break;
      }
      case "list":
        state[key] = await client.lrange(key, 0, -1);
        break;
      case "set":
        state[key] = (await client.smembers(key)).toSorted();
        break;
      default:
        state[key] = await client.get(key);
    }
  }
  return state;
}

/** All that the second can read: messages, what is told to one alone, home tab, modal, and what its model reads. */
function seenBySecond(bodies: readonly unknown[]): string {
  const { slack, ada, general } = second;
  const direct = slack.direct(ada);
  return [
    ...[slack.transcript(general), slack.transcript(direct), ada.home(), ...ada.ephemerals()],
    JSON.stringify(ada.modal() ?? ""),
    JSON.stringify(bodies),
  ].join("\n");
}

beforeAll(async () => {
  [redis, place, model, first, second] = await Promise.all([
    startRedis(),
    newPlace(),
    startFakeAnthropic(),
    openTenant("ONE"),
    openTenant("TWO"),
  ]);
  expect([second.ada.id, second.general.id]).toEqual([first.ada.id, first.general.id]);
  const slacks = [first.slack, second.slack];
  const front = await openFront(slacks);
  closeFront = front.close;
  const client = { ...clientSecrets, allowed: slacks.map(({ teamId }) => teamId) };
  const { store } = createInstallations(redis.client(), client, { log: pino({ level: "silent" }) });
  for (const { teamId, botToken, bot } of slacks) {
    await store.storeInstallation({
      ...{ team: { id: teamId }, enterprise: undefined, isEnterpriseInstall: false },
      ...{ user: { id: "U0", token: undefined, scopes: undefined } },
      bot: { token: botToken, id: bot.botId ?? "", userId: bot.id, scopes: [] },
    });
  }
  const settings = {
    slack: { workspaces: client.allowed, http: { port: 0 } },
    access: { administrators: [`T0ONE:${first.ada.id}`], continue: "administrators" },
    tools: { rules: [{ tool: "bash", command: "deploy*", action: "ask" }] },
    budgets: { user: { cost: 1_000 } },
  };
  await writeFile(`${place.folder}/heddle.yaml`, JSON.stringify(settings));
  const program = place.start(["start"], {
    REDIS_URL: redis.path,
    ...modelEnvironment(model),
    SLACK_API_URL: front.url,
    SLACK_CLIENT_ID: client.clientId,
    SLACK_CLIENT_SECRET: client.clientSecret,
    SLACK_STATE_SECRET: client.stateSecret,
    SLACK_SIGNING_SECRET: signingSecret,
  });
  const listening = await program.line(/http:\/\/127\.0\.0\.1:\d+\/slack\/events/);
  const [url = ""] = /http:\/\/127\.0\.0\.1:\d+\/slack\/events/.exec(listening) ?? [];
  for (const slack of slacks) slack.sendTo(url, signingSecret);
  await program.line(/Heddle is ready/);
  target = await fillFirst();
}, patienceMs);

afterAll(async () => {
  await place.clean();
  await closeFront();
  await Promise.all([first.slack.close(), second.slack.close(), model.close(), redis.stop()]);
});

/** Gives the thread of the first all that a thread can have, and leaves it with an open question. */
async function fillFirst(): Promise<typeof target> {
  const { slack, ada, general } = first;
  const note = (scope: string) =>
    ["record_note", { content: `${kept} noted for the ${scope}`, scope }] as const;
  model.push(
    calls(
      ...(["thread", "channel", "user"].map((scope) => [...note(scope)]) as [string, object][]),
      ["bash", { command: `echo ${kept} > secret.txt` }],
      ["bash", { command: "sleep 600", run_in_background: true }],
      ["schedule", { action: "create", task: `${kept} again`, in_minutes: 600 }],
    ),
    says(`The ${kept} is kept.`),
    calls(["bash", { command: `deploy ${kept}` }]),
  );
  const root = await ada.says(general, `<@BOT> keep the ${kept}`);
  await slack.message(({ text }) => text.includes(`The ${kept} is kept.`));
  await ada.says(general, "deploy it", { thread: root.ts });
  const question = await slack.message(({ blocks }) =>
    JSON.stringify(blocks).includes("heddle_act:approve:"),
  );
  const [, approve = ""] = /heddle_act:(approve:\w+)/.exec(JSON.stringify(question.blocks)) ?? [];
  const read = JSON.stringify(model.bodies);
  const find = (pattern: RegExp) => pattern.exec(read)?.[1] ?? "";
  const found = {
    note: find(/Recorded note (\w+)/),
    job: find(/in the background with id (\w+)/),
    schedule: find(/Planned\. (\w+)/),
    approve: approve && `heddle_act:${approve}`,
  };
  expect(Object.values(found)).not.toContain("");
  await slack.until(() => slack.deliveries.every(({ isAcknowledged }) => isAcknowledged));
  const client = redis.client();
  const thread = `heddle:{slack:${slack.teamId}:${general.id}:${root.ts}}`;
  // Its worker leaves it once it is on record where the question was posted.
  const leftToDo = async () => [
    await client.exists(`${thread}:outbox`),
    (await client.hkeys(`${thread}:head`)).some((name) => name.startsWith("asked:")) ? 0 : 1,
  ];
  await vi.waitFor(async () => expect(await leftToDo()).toEqual([0, 0]), { timeout: patienceMs });
  return { root, ...found, before: await stateOfFirst() };
}

/** Writes in the second, at the same time stamp as the thread of the first where it begins one. */
async function begins(text: string): Promise<FakeMessage> {
  const { slack, ada, general } = second;
  slack.workspace.timestamp = () => target.root.ts;
  try {
    return await ada.says(general, text);
  } finally {
    Reflect.deleteProperty(slack.workspace, "timestamp");
  }
}

async function settled(): Promise<void> {
  const { slack } = second;
  await slack.until(() => slack.deliveries.every(({ isAcknowledged }) => isAcknowledged));
}

/** The second's agent calls these in a thread with the same id; gives what its model has read. */
async function agentCalls(...made: [name: string, input: object][]): Promise<unknown[]> {
  const { slack, ada, general } = second;
  const before = model.bodies.length;
  const done = `Done ${before}.`;
  model.push(calls(...made), says(done));
  const known = general.messages.some(({ ts }) => ts === target.root.ts);
  if (known) await ada.says(general, "look around", { thread: target.root.ts });
  else await begins("<@BOT> look around");
  await slack.message(({ text }) => text.includes(done));
  return model.bodies.slice(before);
}

/** A message of the second's bot in its thread, with the same button as the question of the first. */
async function forgedQuestion(): Promise<FakeMessage> {
  const { slack, general } = second;
  const button = {
    ...{ type: "button", action_id: target.approve },
    text: { type: "plain_text", text: "Approve" },
  };
  return slack.workspace.post({
    ...{ channel: general, user: slack.bot, text: "May it run?", threadTs: target.root.ts },
    blocks: [{ type: "actions", elements: [button] }],
  });
}

type Attempt = () => Promise<unknown[] | void>;

const attempts: [what: string, attempt: Attempt][] = [
  [
    "searches the history",
    () => agentCalls(["search_history", { query: "kept" }], ["search_history", { entry: 1 }]),
  ],
  ["recalls notes", () => agentCalls(["recall_notes", {}])],
  [
    "changes and forgets a note by its id",
    () =>
      agentCalls(
        ["update_note", { id: target.note, content: "nothing" }],
        ["forget_note", { id: target.note }],
      ),
  ],
  [
    "reads files",
    () =>
      agentCalls(
        ["read_file", { path: "secret.txt" }],
        ["list_files", {}],
        ["bash", { command: "cat secret.txt; ls -laR /workspace /tmp; ls .. /var/lib 2>&1 | head" }],
      ),
  ],
  [
    "reads and ends background jobs",
    () => agentCalls(["bash_output", { id: target.job }], ["bash_kill", { id: target.job }]),
  ],
  ["sees its processes", () => agentCalls(["bash", { command: "cat /proc/[0-9]*/cmdline | tr '\\0' ' '" }])],
  [
    "lists and cancels schedules",
    () =>
      agentCalls(["schedule", { action: "list" }], ["schedule", { action: "cancel", id: target.schedule }]),
  ],
  ...["!status", "!schedules", "!unschedule 00000000", "stop", "continue", "!quiet"].map(
    (command): [string, Attempt] => [
      `writes ${command} in the thread`,
      async () => {
        const text = command.replace("00000000", target.schedule);
        const nothing = "There is nothing to continue.";
        if (command === "continue") model.push(says(nothing));
        const before = model.bodies.length;
        await second.ada.says(second.general, `<@BOT> ${text}`, { thread: target.root.ts });
        await settled();
        if (command === "continue") await second.slack.message((message) => message.text.includes(nothing));
        return model.bodies.slice(before);
      },
    ],
  ),
  [
    "presses its button",
    async () => {
      await second.ada.presses(target.approve, await forgedQuestion());
      await settled();
    },
  ],
  [
    "presses Stop",
    async () => {
      const question = await forgedQuestion();
      question.blocks = JSON.parse(JSON.stringify(question.blocks).replaceAll(target.approve, "heddle_stop"));
      await second.ada.presses("heddle_stop", question);
      await settled();
    },
  ],
  [
    "reacts with 🛑 to a message with the same id",
    async () => {
      const { slack, ada, general } = second;
      const same = general.messages.find(({ ts }) => ts === target.root.ts);
      if (same) await ada.reacts("octagonal_sign", same);
      for (const { ts } of first.general.messages) {
        slack.tellAlways({
          ...{ type: "reaction_added", user: ada.id, reaction: "octagonal_sign", event_ts: "1.1" },
          item: { type: "message", channel: general.id, ts },
        });
      }
      await settled();
    },
  ],
  [
    "edits and deletes a message with the same id",
    async () => {
      const { slack, ada, general } = second;
      const [asked, , deploy] = first.general.messages.filter(({ user }) => user.id === ada.id);
      for (const { ts } of [asked, deploy].filter((message) => message !== undefined)) {
        const message = { user: ada.id, text: "stop", ts, thread_ts: target.root.ts };
        const change = { type: "message", channel: general.id, event_ts: slack.workspace.timestamp() };
        const previous_message = { ...message, text: "before" };
        slack.tellAlways({ ...change, subtype: "message_changed", message, previous_message });
        slack.tellAlways({ ...change, subtype: "message_deleted", deleted_ts: ts, previous_message });
      }
      await settled();
    },
  ],
  [
    "asks about a message with the same id",
    async () => {
      const { ada } = second;
      const message = { ...first.general.messages.at(-1) } as FakeMessage;
      ada.chooses("heddle_about", { ...message, channel: second.general });
      await settled();
      if (ada.modal()) ada.submits("what is this?");
      await settled();
    },
  ],
  [
    "uses the command",
    async () => {
      for (const text of ["status", "schedules", "help"])
        second.ada.commands(second.general, `/agent ${text}`);
      await settled();
    },
  ],
  [
    "opens the home tab",
    async () => {
      second.ada.opensApp("home");
      await settled();
      const home = second.ada.home() ?? "";
      expect(home).toContain("look around");
      expect(home.match(/https?:|working|idle|waiting/g)?.length).toBeGreaterThan(0);
    },
  ],
];

describe("A workspace in which all ids are those of another", () => {
  test.each(attempts)("sees and does nothing there when somebody %s", async (_what, attempt) => {
    const bodies = (await attempt()) ?? [];
    expect(seenBySecond(bodies).match(leak)).toBeNull();
    expect(await stateOfFirst()).toEqual(target.before);
  });

  test("has notes, a bill and names of its own, and an operator sees whose is whose", async () => {
    await agentCalls(["record_note", { content: "heron noted", scope: "user" }]);
    const client = redis.client();
    const notes = (await client.keys("*:notes:user")).toSorted();
    const { id } = first.ada;
    expect(notes).toEqual([`heddle:{slack:T0ONE:${id}}:notes:user`, `heddle:{slack:T0TWO:${id}}:notes:user`]);
    const run = async (...args: string[]) => {
      const program = place.start(args, { REDIS_URL: redis.path });
      expect(await program.ended, program.output()).toBe(0);
      return program.output();
    };
    const [threads, usage, audit] = await Promise.all([
      run("threads", "list"),
      run("usage", "--by", "user"),
      run("audit", "show"),
    ]);
    // One reads the log at a time.
    const ofSecond = await run("audit", "show", "--workspace", "slack:T0TWO");
    for (const output of [threads, usage, audit]) {
      expect(output).toContain("slack:T0ONE:");
      expect(output).toContain("slack:T0TWO:");
    }
    expect(ofSecond).toContain("slack:T0TWO:");
    expect(ofSecond).not.toContain("T0ONE");
  });

  test("does not keep the people of the other from going on", async () => {
    const { slack, ada } = first;
    model.push(says(`The ${kept} is deployed.`));
    const question = await slack.message(({ blocks }) => JSON.stringify(blocks).includes(target.approve));
    await ada.presses(target.approve, question);
    await slack.message(({ text }) => text.includes(`The ${kept} is deployed.`));
  });
});
