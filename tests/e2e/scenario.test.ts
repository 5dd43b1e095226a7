import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { listLastDays, readUsage } from "../../src/queue/budgets/usage.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";
import { findUnboundedKeys } from "../queue/redis/key-table.ts";
import { modelEnvironment } from "./environment.ts";
import { newPlace, type Place } from "./program.ts";
import { acts, settings } from "./scenario/acts.ts";
import { drawPage, drawRoom, type PlayedAct } from "./scenario/page.ts";
import { type Platform, type Room, transcript } from "./scenario/chat.ts";
import { consoleKind } from "./scenario/console.ts";
import { discordKind } from "./scenario/discord.ts";
import { agentIn, personIn, startVoices, type Voices } from "./scenario/play.ts";
import { drawThread, textsOf } from "./scenario/picture.ts";
import { slackKind } from "./scenario/slack.ts";
import { startTicketServer, type TicketServer } from "./scenario/ticket-server.ts";

/** The act that README.md shows. `HEDDLE_DRAW=1 npm test -- tests/e2e/scenario.test.ts` draws it anew. */
const pictured = "Bob stops a command of Ada's";
const picture = join(import.meta.dirname, "../../docs/images/slack-stop.svg");

/** What they all show, drawn anew in the same way. */
const page = join(import.meta.dirname, "../../docs/what-people-see.md");
const pageActs: PlayedAct[] = [];

async function comparePicture(room: Room): Promise<void> {
  const drawn = drawThread(
    room.messages().map((message) => room.seen(message)),
    "A Slack thread: a task, the work, and the receipt of its stop",
  );
  if (process.env["HEDDLE_DRAW"]) await writeFile(picture, drawn);
  expect(textsOf(await readFile(picture, "utf8"))).toBe(textsOf(drawn));
}

/** One scenario on every platform, with the real program: what people read in the end must be the same. */

const kinds = [slackKind, discordKind, consoleKind];

describe.each(kinds)("On $name", ({ name, open, lacks }) => {
  const played: { room: Room; expected: string }[] = [];
  let [redis, place, model, platform, tickets]: [TestRedis?, Place?, Voices?, Platform?, TicketServer?] = [];
  let url = "";
  beforeAll(async () => {
    [redis, place, model, platform, tickets] = await Promise.all([
      startRedis(),
      newPlace(),
      startVoices(),
      open(),
      startTicketServer(),
    ]);
    const { rules, environment } = platform;
    const all = { ...settings, ...rules, ...tickets.settings };
    await writeFile(join(place.folder, "heddle.yaml"), JSON.stringify(all));
    await writeFile(join(place.folder, "mcp.json"), JSON.stringify({ mcpServers: tickets.servers }));
    const program = place.start(["start"], {
      ...environment,
      REDIS_URL: redis.path,
      ...modelEnvironment(model),
    });
    await program.line(/Heddle is ready/);
    url = (await program.line(/console +http/)).trim().split(/ +/)[1] ?? "";
  });
  afterEach(({ task }) => {
    if (task.result?.state === "fail") console.error(place?.outputs());
  });
  afterAll(async () => {
    await platform?.close();
    await place?.clean();
    await Promise.all([model?.close(), redis?.stop(), tickets?.close()]);
  });

  const playable = acts.filter(({ needs }) => needs === undefined || !lacks.includes(needs));
  test.concurrent.each(playable)("$title", async ({ title, play, transcript: written }) => {
    if (!platform || !model || !tickets) throw new Error("The program was not started.");
    const room = await platform.room(title, url);
    const voice = model.voice();
    const person = (who: string) => personIn(room, voice, who);
    await play({
      ada: person("ada"),
      bob: person("bob"),
      eve: person("eve"),
      max: person("max"),
      heddle: agentIn(room, voice),
      signIn: tickets.signIn,
    });
    const expected = platform.names(written.trim());
    await room.until(() => transcript(room) === expected).catch(() => undefined);
    expect(transcript(room)).toBe(expected);
    if (title === pictured && name === "Slack") await comparePicture(room);
    pageActs.push({ title, platform: name, drawn: drawRoom(room) });
    played.push({ room, expected });
  });

  test("and nothing is added to it later", () => {
    for (const { room, expected } of played) expect(transcript(room)).toBe(expected);
  });

  test("and the opinions are counted by model", async () => {
    const rows = redis ? await readUsage(redis.client(), listLastDays("UTC", Date.now(), 2)) : [];
    const opinions = rows.filter(({ dimension }) => dimension === "model").map(({ ratings }) => ratings);
    expect(opinions).toContainEqual({ liked: 0, disliked: 1 });
  });

  test("and every key that is left in Redis is documented, and expires or is bounded in another way", async () => {
    expect(redis && (await findUnboundedKeys(redis.client()))).toEqual([]);
  });
});

test("docs/what-people-see.md shows what they show", async ({ skip }) => {
  const all = kinds.flatMap(({ name, lacks }) =>
    acts
      .filter(({ needs }) => needs === undefined || !lacks.includes(needs))
      .map(({ title }) => `${name} ${title}`),
  );
  // Only some were asked for, or some have failed.
  if (pageActs.length < all.length) skip();
  const shown = drawPage(
    acts.map(({ title }) => title),
    kinds.map(({ name }) => name),
    pageActs,
  );
  if (process.env["HEDDLE_DRAW"]) await writeFile(page, shown);
  expect(await readFile(page, "utf8")).toBe(shown);
});
