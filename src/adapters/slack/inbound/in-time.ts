import { setTimeout as delay } from "node:timers/promises";
import type { BaseLogger } from "pino";

/** Slack waits for three seconds. https://docs.slack.dev/interactivity/handling-user-interaction#acknowledgment_response */
const patienceMs = 2_000;

/** What has failed may be stored all the same, as soon as Redis answers again. */
const notConfirmed =
  "I could not make sure that this was taken. Look whether it was, and try again in a minute if not.";

/** How whoever waits is answered. */
interface Reply<Answer> {
  /** Ends the waiting; without an answer it has gone well. */
  acknowledge(answer?: Answer): Promise<void>;
  /** Says something to that person alone, once it is acknowledged. */
  tell(text: string): Promise<void>;
}

/** Acknowledges commands and modals in time. */
export interface InTime {
  /** @param work what was asked for; gives what the person is to read about it */
  reply<Answer extends { text: string }>(
    work: () => Promise<Answer | undefined>,
    how: Reply<Answer>,
  ): Promise<void>;
  /** Resolves when all that was acknowledged before it was done is done. */
  done(): Promise<void>;
}

/**
 * Slack sends a command or a modal once. After three seconds it tells whoever waits that it has failed, and they send it
 * again. So what takes longer is acknowledged before it is done, and a problem is said afterwards.
 */
export function createInTime(log: BaseLogger): InTime {
  const late = new Set<Promise<void>>();

  const finish = async (
    work: Promise<{ text: string } | undefined>,
    tell: (text: string) => Promise<void>,
  ): Promise<void> => {
    try {
      const answer = await work;
      if (answer) await tell(answer.text);
    } catch (error) {
      log.error(
        { err: error },
        "It is not certain whether what somebody asked for in Slack was taken; they are told so.",
      );
      await tell(notConfirmed);
    }
  };

  return {
    async reply(start, how) {
      const work = start();
      const patience = new AbortController();
      const isLate = await Promise.race([
        work.then(() => false),
        delay(patienceMs, true, { signal: patience.signal, ref: false }),
      ]).finally(() => patience.abort());
      if (!isLate) return how.acknowledge(await work);
      const finished = finish(work, how.tell).finally(() => late.delete(finished));
      late.add(finished);
      await how.acknowledge();
    },
    async done() {
      await Promise.all(late);
    },
  };
}
