import { setTimeout as delay } from "node:timers/promises";
import { type Spread, spread } from "../measure.ts";
import type { Answered, Deployment, DeploymentCosts } from "./deployment.ts";

/** What a deployment did under a load, with what it cost in that time. */
export interface LoadResult {
  answered: Answered[];
  /** Threads that did not get exactly one answer. */
  wrong: number;
  seconds: number;
  start: Spread;
  end: Spread;
  /** Shares of one core. */
  gatewayCores: number;
  workerCores: number;
  redisCores: number[];
  redisCommands: number[];
  redisKeys: number[];
  /** What Redis holds at the end beyond what it held before, bytes. */
  redisBytes: number;
}

/** Asks at an even pace, whatever is answered meanwhile, each time in a new thread. */
export async function paceLoad(
  deployment: Deployment,
  { perMinute, count }: { perMinute: number; count: number },
): Promise<LoadResult> {
  return await measureLoad(deployment, async () => {
    const beganAt = performance.now();
    const asked: Promise<Answered>[] = [];
    for (let number = 1; number <= count; number += 1) {
      asked.push(deployment.ask(`task-${number}: how are you?`));
      await delay(Math.max(0, beganAt + (number * 60_000) / perMinute - performance.now()));
    }
    return await Promise.all(asked);
  });
}

/** Keeps so many turns going, each in a new thread, until so many are done. */
export async function keepBusy(
  deployment: Deployment,
  { atOnce, count }: { atOnce: number; count: number },
): Promise<LoadResult> {
  let number = 0;
  const person = async (): Promise<Answered[]> => {
    const done: Answered[] = [];
    while (number < count) {
      number += 1;
      done.push(await deployment.ask(`task-${number}: run it`));
    }
    return done;
  };
  return await measureLoad(deployment, async () =>
    (await Promise.all(Array.from({ length: atOnce }, person))).flat(),
  );
}

async function measureLoad(deployment: Deployment, load: () => Promise<Answered[]>): Promise<LoadResult> {
  const before = await deployment.costs();
  const beganAt = performance.now();
  const answered = await load();
  const seconds = (performance.now() - beganAt) / 1_000;
  const after = await deployment.costs();
  const perSecond = (pick: (costs: DeploymentCosts) => readonly number[]) => {
    const old = pick(before);
    return pick(after).map((value, at) => (value - (old[at] ?? 0)) / seconds);
  };
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  return {
    answered,
    wrong: answered.filter(({ thread }) => deployment.answers.get(thread) !== 1).length,
    seconds,
    start: spread(answered.map(({ startMs }) => startMs)),
    end: spread(answered.map(({ endMs }) => endMs)),
    gatewayCores: sum(perSecond(({ gatewaySeconds }) => [gatewaySeconds])),
    workerCores: sum(perSecond(({ workerSeconds }) => workerSeconds)),
    redisCores: perSecond(({ redis }) => redis.map((each) => each.processorSeconds)),
    redisCommands: perSecond(({ redis }) => redis.map((each) => each.commands)),
    redisKeys: after.redis.map(({ keys }) => keys),
    redisBytes: sum(after.redis.map(({ bytes }) => bytes)) - sum(before.redis.map(({ bytes }) => bytes)),
  };
}
