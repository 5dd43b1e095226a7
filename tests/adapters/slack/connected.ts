import { pino } from "pino";
import { onTestFinished } from "vitest";
import type { Attendance, ChatAdapter, Door, InboundEvent, Verdict } from "../../../src/adapters/adapter.ts";
import { createSlackAdapter } from "../../../src/adapters/slack/adapter.ts";
import { type FakeSlack, type FakeSlackOptions, startFakeSlack } from "../../fakes/slack/fake-slack.ts";

const log = pino({ level: "silent" });

/** A door that writes down who comes in. */
interface RecordingDoor extends Door {
  events: InboundEvent[];
  /** What happens to the next event instead. */
  next: ((event: InboundEvent) => Promise<Verdict>)[];
}

export function recordingDoor(): RecordingDoor {
  const door: RecordingDoor = {
    events: [],
    next: [],
    async receive(event) {
      const special = door.next.shift();
      if (special) return special(event);
      door.events.push(event);
      return { kind: "duplicate" };
    },
  };
  return door;
}

export const nobodyWasHere: Attendance = {
  missedSince: async () => undefined,
  present: async () => undefined,
  threads: async () => [],
};

export function adapterFor(slack: FakeSlack, attendance: Attendance): ChatAdapter {
  return createSlackAdapter({
    workspaces: { botToken: slack.botToken },
    events: { kind: "socket", appToken: slack.appToken },
    apiUrl: slack.url,
    stopReactions: ["octagonal_sign", "hand"],
    attendance,
    log,
  });
}

export async function connected(
  options: FakeSlackOptions = {},
  attendance = nobodyWasHere,
): Promise<{ slack: FakeSlack; door: RecordingDoor; adapter: ChatAdapter }> {
  const slack = await startFakeSlack(options);
  const door = recordingDoor();
  const adapter = adapterFor(slack, attendance);
  await adapter.start(door);
  onTestFinished(async () => {
    await adapter.stop();
    await slack.close();
  });
  return { slack, door, adapter };
}

/** Waits until Slack has been told that everything arrived. */
export async function settled(slack: FakeSlack): Promise<void> {
  await slack.until(() => slack.deliveries.every(({ isAcknowledged }) => isAcknowledged));
}
