import type { Context } from "@slack/bolt";
import type { ChatAdapter } from "../../chat/adapter.ts";
import type { InboundEvent, Intake } from "../../chat/inbound.ts";
import { catchUpOnReconnect, type CatchUpWork } from "../../chat/missed-events.ts";
import { createApp } from "./connection/bolt.ts";
import { openHttpTransport } from "./connection/http.ts";
import { createRouting, type Route } from "./connection/route.ts";
import { openSocketTransport } from "./connection/socket.ts";
import { NotInstalled, type TeamConnection } from "./connection/team.ts";
import { openTeamRegistry, type TeamRegistry } from "./connection/teams.ts";
import { createWebClient } from "./connection/web.ts";
import { type CatchUpOptions, readMissedEvents } from "./inbound/catch-up.ts";
import { createEarlyEvents } from "./inbound/early-events.ts";
import type { EventReader } from "./inbound/events.ts";
import { showHome } from "./inbound/home.ts";
import { createInTime } from "./inbound/in-time.ts";
import { listenToButtons } from "./inbound/interactions.ts";
import { listenToStartReactions } from "./inbound/start-reactions.ts";
import { listenToTasks } from "./inbound/tasks.ts";
import { checkToken } from "./installation/check.ts";
import { UnreadableInstallation } from "./installation/installations.ts";
import type { SlackAdapterOptions } from "./options.ts";

/** Brings events in from Slack. Writes go through a surface, which is created separately. */
export function createSlackAdapter(options: SlackAdapterOptions): ChatAdapter {
  let connection: { close(): Promise<void> } | undefined;
  return {
    platform: "slack",
    async start(intake) {
      connection = await open(options, intake);
    },
    async stop() {
      await connection?.close();
      connection = undefined;
    },
  };
}

async function open(options: SlackAdapterOptions, inner: Intake): Promise<{ close(): Promise<void> }> {
  const { events, teams: choice, log } = options;
  const intake = createEarlyEvents(inner, (error) =>
    log.error({ err: error }, "A reply in Slack, or an edit, could not be offered again."),
  );
  if (events.kind === "socket") checkToken("SLACK_APP_TOKEN", events.appToken);
  const teams = await openTeamRegistry(options);
  const { connectionOf } = teams;
  const transport =
    events.kind === "socket"
      ? openSocketTransport(options, events.appToken)
      : openHttpTransport(options, events.signingSecret, events, "client" in choice ? choice : undefined);

  const app = createApp(transport.receiver, options);
  const findRoutes = createRouting(teams);
  // Intake has posted whatever people should read about the result.
  const receiveEach = async (
    { body, context }: { body: unknown; context: { teamId?: string } },
    read: (reader: EventReader, route: Route) => Promise<InboundEvent | undefined>,
  ) => {
    try {
      for await (const route of findRoutes(body, context.teamId)) {
        const event = await read(route.team.reader, route);
        if (event) await intake.receive(event);
      }
    } catch (error) {
      // Slack gives up sending it again after a few minutes. Where there is no token, nothing can be read back.
      if (!(error instanceof NotInstalled || error instanceof UnreadableInstallation)) catchUp.missed();
      throw error;
    }
  };
  app.event("app_mention", (told) =>
    receiveEach(told, (reader, { isShared }) =>
      reader.message(isShared ? { ...told.event, type: "message" } : told.event),
    ),
  );
  app.event("message", (told) => receiveEach(told, (reader) => reader.message(told.event)));
  app.event("reaction_added", (told) => receiveEach(told, (reader) => reader.reaction(told.event)));
  app.event("agent_session_stopped", (told) =>
    receiveEach(told, (reader) => reader.sessionStopped(told.event)),
  );
  const leave = (context: Context) =>
    teams.leave(context.isEnterpriseInstall ? context.enterpriseId : context.teamId);
  app.event("app_uninstalled", async ({ context }) => leave(context));
  app.event("tokens_revoked", async ({ event, context }) => {
    // The list for bots holds their user ids.
    if (event.tokens.bot?.length) await leave(context);
  });
  app.event("app_home_opened", async ({ event, context }) => {
    if (event.tab === "home") await showHome(await connectionOf(context.teamId), event.user, options);
  });
  const inTime = createInTime(log);
  listenToButtons(app, connectionOf, inTime, intake);
  listenToTasks(app, connectionOf, inTime, { ...options, intake });
  listenToStartReactions(app, connectionOf, { ...options, intake, reactions: options.startReactions ?? [] });

  const closing = new AbortController();
  const catchUp = catchUpOnReconnect("Slack", createCatchUpWork(options, teams, intake, closing.signal), log);
  try {
    await transport.open({
      // Slack does not redeliver what was sent while nobody listened.
      connected: () => catchUp.connected(false),
      disconnected: () => catchUp.disconnected(),
    });
  } catch (error) {
    await catchUp.close();
    throw error;
  }
  return {
    async close() {
      closing.abort();
      intake.close();
      await catchUp.close();
      await transport.close(() => app.finish());
      await inTime.done();
    },
  };
}

/** How every team catches up. */
function createCatchUpWork(
  options: SlackAdapterOptions,
  teams: TeamRegistry,
  intake: Intake,
  signal: AbortSignal,
): CatchUpWork {
  const { downtime, log } = options;
  const forAll = async (work: (team: TeamConnection) => Promise<void>) => {
    for (const team of await teams.connections()) await work(team);
  };
  const optionsOf = ({ botToken, identity, reader }: TeamConnection): CatchUpOptions => ({
    client: createWebClient({ ...options, botToken }, { timeoutMs: 20_000, retries: 5, patient: true }),
    downtime,
    teamId: identity.teamId,
    reader,
    receive: (event) => intake.receive(event),
    signal,
    log,
  });
  const teamIds = async () => (await teams.connections()).map(({ identity }) => identity.teamId);
  return {
    markListening: async () => downtime.markListening("slack", await teamIds()),
    markAway: async () => downtime.markAway("slack", await teamIds()),
    async catchUp() {
      const rests: (() => Promise<void>)[] = [];
      await forAll(async (team) => void rests.push(await readMissedEvents(optionsOf(team))));
      return async () => {
        for (const handInRest of rests) await handInRest();
      };
    },
    markConnected: () => forAll(({ identity }) => downtime.markConnected("slack", identity.teamId)),
  };
}
