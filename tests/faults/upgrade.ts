/**
 * `upgrade.ts [REF]`: the version of that commit, by default of the newest tag, is replaced by the present one while it
 * works: all processes at once, and one after the other in both orders. See scripts/try-upgrade.js.
 */
import { setTimeout as delay } from "node:timers/promises";
import { reporting } from "../../scripts/bootstrap/speak.js";
import { keys } from "../../src/queue/redis/keys.ts";
import { processesWith, running, uniqueSleep } from "../e2e/processes.ts";
import type { Program } from "../e2e/program.ts";
import { buttonsOf } from "../fakes/slack/blocks.ts";
import type { FakeMessage } from "../fakes/slack/workspace.ts";
import { check, type Fate } from "./check.ts";
import { checkOut } from "./earlier-version.ts";
import { gather, quiet } from "./evidence.ts";
import { botMessages, deployForTest, type TestDeployment } from "./serve.ts";
import { replyTo } from "./tasks.ts";

type Role = "gateway" | "worker";
interface Fleet {
  gateway: Program;
  worker: Program;
}

/** What people have asked for when the upgrade begins, and what must become of it. */
const works = {
  parked: { text: "task 1 calls 1 asking", fate: "answered" },
  planned: { text: "plan in 0.3 task 2 calls 1", fate: "answered" },
  "in a model call": { text: "task 3 calls 2 thinks", fate: "answered" },
  "in a tool": { text: "task 4 calls 2 pause 6.25", fate: "answered" },
  // Two calls: whoever takes it over leaves the first one, whose outcome is unknown, and is stopped in the second.
  "to be stopped": { text: `task 5 calls 2 pause ${uniqueSleep().seconds}`, fate: "stopped" },
  queued: { text: "task 6 calls 1", fate: "answered" },
} satisfies Record<string, { text: string; fate: Fate }>;
type Work = keyof typeof works;

const orders = {
  "all at once": async (deployment: TestDeployment, old: Fleet) => {
    await Promise.all([end(old.gateway), end(old.worker)]);
    await Promise.all([deployment.start("gateway"), deployment.start("worker")]);
  },
  "the gateway first": async (deployment: TestDeployment, old: Fleet, between: () => Promise<unknown>) => {
    await replace(deployment, "gateway", old.gateway);
    await between();
    await replace(deployment, "worker", old.worker);
  },
  "the worker first": async (deployment: TestDeployment, old: Fleet, between: () => Promise<unknown>) => {
    await replace(deployment, "worker", old.worker);
    await between();
    await replace(deployment, "gateway", old.gateway);
  },
};

/** As an operator checks it after an upgrade: what an earlier version wrote without a key is said to be its own. */
async function isAuditSound(deployment: TestDeployment): Promise<boolean> {
  const verify = async (...args: string[]) => {
    const audit = deployment.run(["audit", "verify", ...args]);
    return { isSound: (await audit.ended) === 0, until: /--unkeyed-until (\d+)/.exec(audit.output())?.[1] };
  };
  const { isSound, until } = await verify();
  return isSound || (until !== undefined && (await verify("--unkeyed-until", until)).isSound);
}

/** As in a rolling upgrade: for a moment both serve. */
async function replace(deployment: TestDeployment, role: Role, old: Program): Promise<void> {
  await deployment.start(role);
  await end(old);
}

async function end(program: Program): Promise<void> {
  program.signal("SIGTERM");
  const code = await program.ended;
  if (code !== 0)
    throw new Error(`A process that was asked to end did so with ${code}:\n${program.output()}`);
}

/** Lets the earlier version begin everything, upgrades in that order, and holds every thread against the promises. */
async function upgrade(earlier: string, order: keyof typeof orders): Promise<void> {
  let isSilent = true;
  let isThinking = false;
  const deployment = await deployForTest({
    // As many as there are turns that stay: the next one is queued.
    concurrency: 3,
    replies(body) {
      const reply = replyTo(body);
      const stalls = isSilent && JSON.stringify(body.messages).includes("thinks") && "content" in reply;
      isThinking ||= stalls;
      return stalls ? { ...reply, breaks: { after: 1, how: "stall" } } : reply;
    },
  });
  const { slack } = deployment;
  const ada = slack.user("ada");
  const questions = new Map<Work, FakeMessage>();
  const ask = async (work: Work) => {
    const question = await ada.says(slack.channel("general"), `<@BOT> ${works[work].text}`);
    questions.set(work, question);
    return question;
  };
  const said = (question: FakeMessage, words: string) =>
    slack.until(
      () => botMessages(slack, question.channel, question.ts).find(({ text }) => text.includes(words)),
      30_000,
    );
  try {
    const [gateway, worker] = await Promise.all([
      deployment.start("gateway", undefined, earlier),
      deployment.start("worker", undefined, earlier),
    ]);
    const parked = await ask("parked");
    const approval = () =>
      botMessages(slack, parked.channel, parked.ts).flatMap((message) =>
        buttonsOf(message)
          .filter(({ action_id }) => action_id.includes("approve"))
          .map(({ action_id }) => ({ message, action: action_id })),
      )[0];
    await slack.until(approval, 20_000);
    const planned = await ask("planned");
    await said(planned, "Planned: 2");
    await ask("in a model call");
    await slack.until(() => isThinking || undefined, 30_000);
    await ask("in a tool");
    await running("sleep 6.25");
    const stopped = await ask("to be stopped");
    const sleep = works["to be stopped"].text.split(" ").at(-1) ?? "";
    await running(`sleep ${sleep}`);
    const queued = await ask("queued");
    while ((await deployment.redis.client.llen(keys.mail(deployment.threadOf(queued)))) === 0)
      await delay(20);

    const stop = async () => {
      await ada.reacts("octagonal_sign", stopped);
      await said(stopped, "Stopped by ada");
    };
    let hasStopped = false;
    isSilent = false;
    await orders[order](deployment, { gateway, worker }, async () => {
      await stop();
      hasStopped = true;
    });
    if (!hasStopped) await stop();
    const next = await slack.until(approval);
    await ada.presses(next.action, next.message);
    // What was written to the earlier version is understood by the present one.
    let task = 10;
    const sent = new Map<Work, [FakeMessage, FakeMessage]>();
    for (const [work, question] of questions) {
      const { channel, ts } = question;
      task += 1;
      sent.set(work, [question, await ada.says(channel, `task ${task} calls 1`, { thread: ts })]);
      await said(question, ` ${task}.`);
    }
    await said(planned, "Answered: 2");
    await quiet(deployment, [...questions.values()].map(deployment.threadOf), 30_000);

    const broken: string[] = [];
    for (const [work, messages] of sent) {
      const { fates, broken: faults } = check(await gather(deployment, messages));
      broken.push(...faults.map((fault) => `${work}: ${fault}`));
      const fate = fates.get(messages[0].ts);
      if (fate !== works[work].fate) broken.push(`${work}: ended as ${fate}.`);
    }
    if (processesWith(sleep).length > 0) broken.push("The stopped command is still alive.");
    if (!(await isAuditSound(deployment))) broken.push("The audit log does not verify; see above.");
    if (broken.length > 0) throw new Error(broken.join("\n"));
  } catch (error) {
    console.log(deployment.outputs());
    throw error;
  } finally {
    await deployment.clean();
  }
}

await reporting(async () => {
  const [ref] = process.argv.slice(2);
  await using earlier = await checkOut(ref);
  console.log(`From ${earlier.name} to what is here:`);
  for (const order of ["all at once", "the gateway first", "the worker first"] as const) {
    const began = performance.now();
    await upgrade(earlier.folder, order);
    const seconds = ((performance.now() - began) / 1_000).toFixed(1);
    console.log(`ok  ${order} (${seconds} s): ${Object.keys(works).join(", ")}; each ended as it should`);
  }
});
