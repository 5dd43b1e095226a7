import type { FakeMessage } from "../tests/fakes/slack/workspace.ts";
import type { ServedThread } from "./served-thread.ts";

/** Longest turn that is measured, ms. */
const patienceMs = 60_000;

/**
 * Mentions Heddle in a channel of its own and tells when what was seen, in ms after the mention. The script's last
 * words must be "Here is the answer." Resolves when the turn makes no more calls.
 */
export async function askInSlack({ slack, model }: ServedThread, text: string, channel: string) {
  const place = slack.channel(channel);
  const nextRequest = model.requests.length + 1;
  const startedAt = performance.now();
  const since = () => performance.now() - startedAt;
  const question = await slack.user("ada").says(place, text);
  const [eyes, request, answer] = await Promise.all([
    slack.until(() => question.reactions.has("eyes")).then(since),
    model.request(nextRequest).then(since),
    slack
      .until(() => place.messages.some(({ text: said }) => said.includes("Here is the answer.")), patienceMs)
      .then(since),
  ]);
  await slack.until(() => isMarkedAsDone(question), patienceMs);
  await atRest(slack);
  return { eyes, request, answer };
}

function isMarkedAsDone({ reactions }: FakeMessage): boolean {
  return reactions.has("white_check_mark") && !reactions.has("eyes");
}

/** A silence of this length ends the calls of a turn. */
const restMs = 100;

async function atRest({ calls }: { calls: readonly unknown[] }): Promise<void> {
  for (let count = -1; count !== calls.length; ) {
    count = calls.length;
    await new Promise((resolve) => setTimeout(resolve, restMs));
  }
}
