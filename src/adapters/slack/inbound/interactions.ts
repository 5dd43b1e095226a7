import type { App, types } from "@slack/bolt";
import { z } from "zod";
import { explainResult, type InboundEvent, type Intake } from "../../../chat/inbound.ts";
import { type ConnectionOf, NotInstalled, type TeamConnection } from "../connection/team.ts";
import { refusalCode } from "../connection/web.ts";
import { actNow, askFirst, rateAction, readOfferedAction, stopAction } from "../surface/buttons.ts";
import { parseTs } from "./events.ts";
import { createFormModal, formModal, readForm } from "./forms.ts";
import type { InTime } from "./in-time.ts";
import {
  askForSentence,
  problemInModal,
  type PressState,
  pressSchema,
  readRemembered,
  readText,
  sentenceModal,
} from "./modals.ts";

const pressedSchema = z.object({
  user: z.object({ id: z.string() }),
  channel: z.object({ id: z.string() }),
  message: z.object({ ts: z.string(), thread_ts: z.string().optional() }),
  trigger_id: z.string(),
  actions: z.tuple([
    z.object({
      action_id: z.string(),
      action_ts: z.string(),
      text: z.object({ text: z.string() }).optional(),
      value: z.string().optional(),
    }),
  ]),
});

type PressedAction = z.infer<typeof pressedSchema>["actions"][0];

/** The team of the bot that posted the message. */
const postedSchema = z.object({ message: z.object({ team: z.string().optional() }) });

const userSchema = z.object({ user: z.object({ id: z.string() }) });

/**
 * Listens to buttons and to the modals behind them. A press is acknowledged to Slack once intake has stored it; whatever
 * failed is told to the person privately.
 *
 * @param connectionOf the connection of the team where it happened
 */
export function listenToButtons(app: App, connectionOf: ConnectionOf, inTime: InTime, intake: Intake) {
  /** In a shared channel people of another team see the buttons, and Slack may name theirs. */
  const findPosterOf = async (body: unknown, teamId: string | undefined): Promise<TeamConnection> => {
    const poster = postedSchema.safeParse(body).data?.message.team;
    try {
      return await connectionOf(poster ?? teamId);
    } catch (error) {
      if (error instanceof NotInstalled && poster !== teamId) return connectionOf(teamId);
      throw error;
    }
  };

  app.action(stopAction, async ({ body, context }) => {
    const team = await findPosterOf(body, context.teamId);
    const { channel, thread, active, user, action } = readPress(body);
    const result = await intake.receive({
      kind: "stop",
      target: { thread: { ...resolveChannel(team, channel), thread } },
      author: await team.people.author(user),
      tellsRefusal: true,
      at: parseTs(action.action_ts),
    });
    const problem = explainResult(result);
    if (problem) await team.postEphemeral({ user, channel, thread: active }, problem);
  });

  const act = async (body: unknown, teamId: string | undefined, read: (pressed: PressedAction) => string) => {
    const team = await findPosterOf(body, teamId);
    const { channel, thread, active, user, message, trigger, action } = readPress(body);
    const press = { channel, thread, message, action: read(action) };
    const result = await intake.receive({
      ...(await readAction(team, user, press)),
      at: parseTs(action.action_ts),
    });
    const problem =
      result.kind === "acted" && result.form
        ? await openModal(team, trigger, createFormModal(result.form, press))
        : undefined;
    const reply = problem ?? (result.kind === "acted" ? result.reply : explainResult(result));
    if (reply) await team.postEphemeral({ user, channel, thread: active }, reply);
  };
  app.action(actNow, ({ body, context }) =>
    act(body, context.teamId, ({ action_id: id }) => readOfferedAction(id)),
  );
  app.action(rateAction, ({ body, context }) => act(body, context.teamId, ({ value = "" }) => value));

  app.action(askFirst, async ({ body, context }) => {
    const team = await findPosterOf(body, context.teamId);
    const { channel, thread, active, user, message, trigger, action } = readPress(body);
    const press = { channel, thread, message, action: readOfferedAction(action.action_id) };
    const button = { label: action.text?.text ?? "Answer", asksFor: action.value ?? "Your answer" };
    const problem = await openModal(team, trigger, askForSentence(button, press));
    if (problem) await team.postEphemeral({ user, channel, thread: active }, problem);
  });

  /** Takes what was put into a modal that a press has opened. */
  const listenToModal = (modal: string, read: (view: unknown) => Pick<ActionEvent, "text" | "fields">) =>
    app.view(modal, async ({ body, view, context, ack }) => {
      const team = await connectionOf(context.teamId);
      const { user } = userSchema.parse(body);
      const written = read(view);
      const press = readRemembered(view, pressSchema);
      const take = async () => {
        const action = await readAction(team, user.id, press);
        const result = await intake.receive({ ...action, ...written, at: Date.now() });
        const text = explainResult(result);
        return text ? { text, field: result.kind === "refused" ? result.field : undefined } : undefined;
      };
      const { channel, thread, message } = press;
      // One that begins a thread may have no replies yet.
      const place = { channel, thread: thread === message ? undefined : thread };
      // Slack shows a problem at an input alone.
      const [first] = Object.keys(written.fields ?? {});
      await inTime.reply(take, {
        acknowledge: (problem) =>
          problem ? ack(problemInModal(problem.text, problem.field ?? first)) : ack(),
        tell: (problem) => team.postEphemeral({ ...place, user: user.id }, problem),
      });
    });
  listenToModal(formModal, (view) => ({ fields: readForm(view) }));
  listenToModal(sentenceModal, (view) => ({ text: readText(view) }));
}

/** `active`: the thread where it has replies, for `TeamConnection.postEphemeral`. */
function readPress(body: unknown) {
  const { user, channel, message, trigger_id: trigger, actions } = pressedSchema.parse(body);
  const { ts, thread_ts: active } = message;
  const place = { channel: channel.id, thread: active ?? ts, message: ts };
  return { ...place, active, user: user.id, trigger, action: actions[0] };
}

export function resolveChannel({ identity }: TeamConnection, channel: string) {
  return { platform: "slack", workspace: identity.teamId, channel };
}

type ActionEvent = Extract<InboundEvent, { kind: "action" }>;

async function readAction(
  team: TeamConnection,
  user: string,
  { channel, thread, message, action }: PressState,
): Promise<Omit<ActionEvent, "at">> {
  const place = resolveChannel(team, channel);
  const author = await team.people.author(user);
  const where = { thread: { ...place, thread }, ref: { ...place, message } };
  return { kind: "action", ...where, author, action, tellsRefusal: true };
}

/** Opens a modal, which Slack allows for three seconds after the press; gives a sentence for the person if it failed. */
export async function openModal(
  { client }: TeamConnection,
  trigger: string,
  view: types.ModalView,
): Promise<string | undefined> {
  try {
    await client.views.open({ trigger_id: trigger, view });
    return undefined;
  } catch (error) {
    const code = refusalCode(error);
    if (code === undefined) throw error;
    return code === "expired_trigger_id"
      ? "It took too long to open the window; please press again."
      : `Slack did not open the window (${code}).`;
  }
}
