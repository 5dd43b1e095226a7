import type { Attendance, ChatAdapter, Door, InboundEvent } from "../adapter.ts";
import { attend } from "./attend.ts";
import { createApp } from "./bolt.ts";
import { catchUp } from "./catch-up.ts";
import { createDesk } from "./desk.ts";
import { listenToButtons } from "./interactions.ts";
import { listenToQuestions } from "./questions.ts";
import { keepConnected } from "./socket.ts";
import { checkTokens, identify, tokenError } from "./check.ts";
import { createWebClient, type SlackAccess } from "./web.ts";

export interface SlackAdapterOptions extends SlackAccess {
  /** `xapp-…`, with the scope `connections:write`. */
  appToken: string;
  /** Names of the reactions that stop a turn, without colons. */
  stopReactions: readonly string[];
  attendance: Attendance;
}

/** Brings events in from Slack's Socket Mode. Slack writes go through a surface, which is made apart. */
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
  const { log } = options;
  checkTokens(options.botToken, options.appToken);
  const client = createWebClient(options, { timeoutMs: 5_000, retries: 2 });
  const { identity, warning } = await identify(client);
  if (warning) log.warn(warning);
  const desk = createDesk(client, identity, options.stopReactions, log);
  const { reader } = desk;

  // Whatever people should read about the verdict, intake has posted.
  const receive = async (event: InboundEvent | undefined): Promise<void> => {
    if (event) await door.receive(event);
  };

  const { app, receiver } = createApp(options, identity);
  app.event("app_mention", async ({ event }) => receive(await reader.message(event)));
  app.event("message", async ({ event }) => receive(await reader.message(event)));
  app.event("reaction_added", async ({ event }) => receive(await reader.reaction(event)));
  app.event("agent_session_stopped", async ({ event }) => receive(await reader.sessionStopped(event)));
  listenToButtons(app, async () => desk, door);
  listenToQuestions(app, async () => desk, door);

  const closing = new AbortController();
  const { attendance } = options;
  const { teamId } = identity;
  const patient = createWebClient(options, { timeoutMs: 20_000, retries: 5, patient: true });
  const attending = attend(
    receiver.client,
    {
      catchUp: () =>
        catchUp({
          client: patient,
          attendance,
          teamId,
          receive: async (message) => receive(await reader.message(message)),
          signal: closing.signal,
          log,
        }),
      present: () => attendance.present("slack", teamId),
    },
    log,
  );
  const connecting = keepConnected(receiver.client, closing.signal, log);
  const { ended } = await connecting.catch(async (error: unknown) => {
    await attending.close();
    throw tokenError("SLACK_APP_TOKEN", error);
  });

  return {
    async close() {
      await app.finish();
      closing.abort();
      await Promise.all([ended, attending.close()]);
    },
  };
}
