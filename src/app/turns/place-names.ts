import { plainName } from "../../agent/messages.ts";
import { parseThreadId, type ThreadId } from "../../chat/threads.ts";
import { channelId } from "../../operations/names.ts";

const platforms: Record<string, string> = { slack: "Slack", discord: "Discord" };

/** How long a channel's name counts, and how long it counts that none is known, ms. */
const nameMs = 3_600_000;
const namelessMs = 60_000;

export interface PlaceNamesOptions {
  /** What is known of the names of channels, by their ids. */
  readNames(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  now(): number;
  onProblem(problem: string, error: unknown): void;
}

/**
 * Says where a thread is, for the model: `the channel #deploys on Slack`. Without a name that is known, the channel's
 * id stands for it: no platform is asked, because a turn would wait for that.
 */
export function createPlaceNames({
  readNames,
  now,
  onProblem,
}: PlaceNamesOptions): (id: ThreadId) => Promise<string> {
  const known = new Map<string, { name: string | undefined; until: number }>();

  async function findName(id: string): Promise<string | undefined> {
    const found = known.get(id);
    if (found && found.until > now()) return found.name;
    try {
      const name = (await readNames([id])).get(id);
      known.set(id, { name, until: now() + (name === undefined ? namelessMs : nameMs) });
      return name;
    } catch (error) {
      onProblem("the name of a channel could not be read", error);
      return found?.name;
    }
  }

  return async (id) => {
    const thread = parseThreadId(id);
    const platform = platforms[thread.platform];
    if (!platform) return "Heddle's own console, where its operator writes";
    const name = await findName(channelId(thread));
    if (name === undefined) return `the channel with the id ${thread.channel} on ${platform}`;
    // Where whoever is there is alone with Heddle, the platform's adapter gives this for a name.
    if (name === "direct messages") return `direct messages on ${platform}`;
    return `the channel #${plainName(name).replace(/^#/, "")} on ${platform}`;
  };
}
