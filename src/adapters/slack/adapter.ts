import type { ChatAdapter } from "../../chat/adapter.ts";
import type { Door, InboundEvent } from "../../chat/inbound.ts";
import { attend } from "../../chat/missed-events.ts";
import { createApp } from "./connection/bolt.ts";
import { openHttpLine } from "./connection/http.ts";
import { openSocketLine } from "./connection/socket.ts";
import type { Desk } from "./connection/team.ts";
import { openReception, type Reception } from "./connection/teams.ts";
import { createWebClient } from "./connection/web.ts";
import { catchUp } from "./inbound/catch-up.ts";
import { showHome } from "./inbound/home.ts";
import { listenToButtons } from "./inbound/interactions.ts";
import { listenToQuestions } from "./inbound/tasks.ts";
import { checkToken } from "./installation/check.ts";
import type { SlackAdapterOptions } from "./options.ts";

/** Brings events in from Slack. Slack writes go through a surface, which is made apart. */
export function createSlackAdapter(options: SlackAdapterOptions): ChatAdapter {
  let connection: { close(): Promise<void> } | undefined;
  return {
    platform: "slack",
    async start(door) {
      connection = await open(options, door);
    },
    async stop() {
      await connection?.close();
      connection = undefined;
    },
  };
}

async function open(options: SlackAdapterOptions, door: Door): Promise<{ close(): Promise<void> }> {
  const { events, workspaces, log } = options;
  if (events.kind === "socket") checkToken("SLACK_APP_TOKEN", events.appToken);
  const reception = await openReception(options);
  const { deskOf } = reception;
  const line =
    events.kind === "socket"
      ? openSocketLine(options, events.appToken)
      : openHttpLine(options, events.signingSecret, events, "client" in workspaces ? workspaces : undefined);

  // Whatever people should read about the verdict, intake has posted.
  const receive = async (event: InboundEvent | undefined): Promise<void> => {
    if (event) await door.receive(event);
  };

  const app = createApp(line.receiver, options, deskOf);
  const reader = async (teamId: string | undefined) => (await deskOf(teamId)).reader;
  app.event("app_mention", async ({ event, context }) =>
    receive(await (await reader(context.teamId)).message(event)),
  );
  app.event("message", async ({ event, context }) =>
    receive(await (await reader(context.teamId)).message(event)),
  );
  app.event("reaction_added", async ({ event, context }) =>
    receive(await (await reader(context.teamId)).reaction(event)),
  );
  app.event("agent_session_stopped", async ({ event, context }) =>
    receive(await (await reader(context.teamId)).sessionStopped(event)),
  );
  app.event("app_uninstalled", async ({ context }) => reception.leave(context.teamId));
  app.event("tokens_revoked", async ({ event, context }) => {
    // The list for bots holds their user ids.
    if (event.tokens.bot?.length) await reception.leave(context.teamId);
  });
  app.event("app_home_opened", async ({ event, context }) => {
    if (event.tab === "home") await showHome(await deskOf(context.teamId), event.user, options);
  });
  listenToButtons(app, deskOf, door);
  listenToQuestions(app, deskOf, { ...options, door });

  const closing = new AbortController();
  const attending = attend("Slack", attendanceWork(options, reception, door, closing.signal), log);
  try {
    await line.open({
      // Slack sends nothing again that came while nobody listened.
      connected: () => attending.connected(false),
      disconnected: () => attending.disconnected(),
    });
  } catch (error) {
    attending.close();
    throw error;
  }
  return {
    async close() {
      closing.abort();
      attending.close();
      await line.close(() => app.finish());
    },
  };
}

/** What is to be done about messages that nobody has heard, in every workspace. */
function attendanceWork(options: SlackAdapterOptions, reception: Reception, door: Door, signal: AbortSignal) {
  const { attendance, log } = options;
  const forAll = async (work: (desk: Desk) => Promise<void>) => {
    for (const desk of await reception.desks()) await work(desk);
  };
  return {
    catchUp: () =>
      forAll(({ botToken, identity, reader }) =>
        catchUp({
          client: createWebClient({ ...options, botToken }, { timeoutMs: 20_000, retries: 5, patient: true }),
          attendance,
          teamId: identity.teamId,
          reader,
          receive: (event) => door.receive(event),
          signal,
          log,
        }),
      ),
    present: () => forAll(({ identity }) => attendance.present("slack", identity.teamId)),
  };
}
