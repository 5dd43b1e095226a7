import { setTimeout as delay } from "node:timers/promises";
import { listDescendants } from "../../src/sandbox/thread/processes.ts";
import { processesWith } from "../e2e/processes.ts";
import type { Program } from "../e2e/program.ts";
import { type SilentRelay, startSilentRelay } from "../fakes/silent-relay.ts";
import type { Fault } from "../fakes/slack/web-api.ts";
import { type TestDeployment, workingPid } from "./serve.ts";

/** A process of a fleet, and the relay over which it reaches Redis. */
interface Member {
  role: "gateway" | "worker";
  /** As on another host: nobody sees what it runs. */
  elsewhere: boolean;
  relay: SilentRelay;
  program: Program;
  /** A partition that lasts. */
  cutOff?: Promise<void> | undefined;
}

/** How often each thing was done. */
export interface Struck {
  kills: number;
  spawnerKills: number;
  freezes: number;
  partitions: number;
  silences: number;
  redisKills: number;
  redisHangs: number;
  slackFaults: number;
}

export interface Fleet {
  struck: Readonly<Struck>;
  /** From SIGTERM to the end of each process that got it, ms. */
  handovers: readonly number[];
  /** Does the next thing to one of its processes, or to what they need. */
  strike(): Promise<void>;
  /** Afterwards nothing is cut off any more, and Slack answers again. */
  heal(): Promise<void>;
  close(): Promise<void>;
}

interface FleetOptions {
  gateways: number;
  workers: number;
  /** The last worker is as on another host. */
  elsewhere: boolean;
  roll: (sides: number) => number;
  /** What is done first; at random after that. */
  first: readonly Blow[];
}

const slackFaults: Fault[] = [
  { kind: "rate-limit", retryAfterSeconds: 1 },
  { kind: "refuse", error: "ratelimited" },
  { kind: "http", status: 503 },
  { kind: "lost-request" },
  { kind: "lost-response" },
];

/** What the bot calls while it works: messages, answers that grow, and what it reads back. */
const disturbed = [
  ...(["chat.postMessage", "chat.update", "chat.delete", "conversations.replies"] as const),
  ...(["chat.startStream", "chat.appendStream", "chat.stopStream"] as const),
];

export type Blow =
  | "kill"
  | "spawner-kill"
  | "term"
  | "freeze"
  | "partition"
  | "silence"
  | "redis-kill"
  | "redis-hang";

/** Each as often as it is to come. */
const blows: readonly Blow[] = [
  ...(["kill", "kill", "kill", "kill", "spawner-kill", "term", "term", "freeze", "freeze"] as const),
  ...(["partition", "partition", "partition", "silence", "redis-kill", "redis-hang"] as const),
];

/** Starts gateways and workers on a deployment. */
export async function raiseFleet(deployment: TestDeployment, options: FleetOptions): Promise<Fleet> {
  const { roll } = options;
  const first = [...options.first];
  const struck = {
    kills: 0,
    spawnerKills: 0,
    freezes: 0,
    partitions: 0,
    silences: 0,
    redisKills: 0,
    redisHangs: 0,
    slackFaults: 0,
  };
  const handovers: number[] = [];
  const begin = ({ role, elsewhere, relay }: Omit<Member, "program">) =>
    deployment.startAt(role, { redisUrl: `redis://127.0.0.1:${relay.port}`, elsewhere });
  const raise = async (role: Member["role"], elsewhere: boolean): Promise<Member> => {
    const relay = await startSilentRelay({ path: deployment.redis.path });
    return { role, elsewhere, relay, program: await begin({ role, elsewhere, relay }) };
  };
  const members = await Promise.all([
    ...Array.from({ length: options.gateways }, () => raise("gateway", false)),
    ...Array.from({ length: options.workers }, (_, index) =>
      raise("worker", options.elsewhere && index === options.workers - 1),
    ),
  ]);

  async function restart(member: Member): Promise<void> {
    member.relay.release();
    member.program = await begin(member);
  }

  function cutOff(member: Member): Promise<void> {
    member.relay.hold();
    // Longer than a lock lives, and sometimes longer than the clock leaves to what runs.
    return delay(roll(4) === 0 ? 20_000 : 2_500 + roll(5_000)).then(() => {
      member.cutOff = undefined;
      member.relay.release();
    });
  }

  async function hangRedis(): Promise<void> {
    const pid = Number(/process_id:(\d+)/.exec(await deployment.redis.client.info("server"))?.[1]);
    process.kill(pid, "SIGSTOP");
    // Heddle gives up a silent connection after five seconds.
    await delay(1_000 + roll(7_000));
    process.kill(pid, "SIGCONT");
  }

  function disturbSlack(): void {
    for (const method of disturbed) {
      const fault = slackFaults[roll(slackFaults.length * 2)];
      // What is seldom called would gather more of them than any outage has.
      if (!fault || deployment.slack.countFaults(method) > 0) continue;
      struck.slackFaults += 1;
      deployment.slack.fail(method, fault);
    }
  }

  async function hit(member: Member, blow: Blow): Promise<void> {
    const { program } = member;
    switch (blow) {
      case "kill":
        struck.kills += 1;
        program.signal("SIGKILL");
        await program.ended;
        return restart(member);
      case "spawner-kill":
        for (const pid of processesWith("spawner-process.ts", program.pid)) {
          struck.spawnerKills += 1;
          process.kill(pid, "SIGKILL");
        }
        return;
      case "term": {
        const askedAt = Date.now();
        process.kill(supervisorOf(member), "SIGTERM");
        await program.ended;
        // Who is cut off from Redis waits for it, which is no figure of a handover.
        if (!member.cutOff) handovers.push(Date.now() - askedAt);
        return restart(member);
      }
      case "freeze": {
        struck.freezes += 1;
        const pid = workingPid({ ...program, pid: supervisorOf(member) });
        process.kill(pid, "SIGSTOP");
        // Longer than a lock lives, so that another worker takes over in the meantime.
        await delay(2_500 + roll(1_500));
        process.kill(pid, "SIGCONT");
        return;
      }
      case "partition":
        if (member.cutOff) return;
        struck.partitions += 1;
        member.cutOff = cutOff(member);
        return;
      case "silence":
        struck.silences += 1;
        member.relay.silence();
        return;
      case "redis-kill":
        struck.redisKills += 1;
        return deployment.redis.restart();
      case "redis-hang":
        struck.redisHangs += 1;
        return hangRedis();
    }
  }

  return {
    struck,
    handovers,
    async strike() {
      const blow = first.shift() ?? blows[roll(blows.length)];
      // A gateway starts no commands.
      const able = blow === "spawner-kill" ? members.filter(({ role }) => role === "worker") : members;
      const member = able[roll(able.length)];
      disturbSlack();
      if (member && blow) await hit(member, blow);
    },
    async heal() {
      deployment.slack.recover();
      await Promise.all(members.flatMap(({ cutOff: lasts }) => lasts ?? []));
    },
    close: async () => void (await Promise.all(members.map(({ relay }) => relay.close()))),
  };
}

/** What is started as on another host is the child of what makes the namespace, which hands no signal on. */
function supervisorOf({ program, elsewhere }: Member): number {
  return (elsewhere ? listDescendants(program.pid)[0]?.pid : undefined) ?? program.pid;
}
