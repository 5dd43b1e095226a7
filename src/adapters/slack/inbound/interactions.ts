import type { App, types } from "@slack/bolt";
import { z } from "zod";
import { type Door, type InboundEvent, problemOf } from "../../../chat/inbound.ts";
import { actNow, askFirst, offeredId, stopAction } from "../surface/buttons.ts";
import type { Desk, DeskOf } from "../connection/team.ts";
import { milliseconds } from "./events.ts";
import { askForSentence, pressSchema, problemInModal, readSubmission, sentenceModal } from "./modals.ts";
import { refusalCode } from "../connection/web.ts";

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

const userSchema = z.object({ user: z.object({ id: z.string() }) });

/**
 * Takes what people do with buttons and with the modals behind them. Slack is told that it has arrived when the door has it;
 * whatever did not work is told to the person alone.
 *
 * @param deskOf the desk of the workspace where it happened
 */
export function listenToButtons(app: App, deskOf: DeskOf, door: Door) {
  app.action(stopAction, async ({ body, context }) => {
    const desk = await deskOf(context.teamId);
    const { channel, thread, user, action } = readPress(body);
    const verdict = await door.receive({
      kind: "stop",
      target: { thread: { ...placeOf(desk, channel), thread } },
      author: await desk.people.author(user),
      at: milliseconds(action.action_ts),
    });
    const problem = problemOf(verdict);
    if (problem) await desk.whisper({ user, channel, thread }, problem);
  });

  app.action(actNow, async ({ body, context }) => {
    const desk = await deskOf(context.teamId);
    const { channel, thread, user, message, action } = readPress(body);
    const press = { channel, thread, message, action: offeredId(action.action_id) };
    const verdict = await door.receive({
      ...(await actionOf(desk, user, press)),
      at: milliseconds(action.action_ts),
    });
    const words = verdict.kind === "acted" ? verdict.reply : problemOf(verdict);
    if (words) await desk.whisper({ user, channel, thread }, words);
  });

  app.action(askFirst, async ({ body, context }) => {
    const desk = await deskOf(context.teamId);
    const { channel, thread, user, message, trigger, action } = readPress(body);
    const press = { channel, thread, message, action: offeredId(action.action_id) };
    const button = { label: action.text?.text ?? "Answer", asksFor: action.value ?? "Your answer" };
    const problem = await openModal(desk, trigger, askForSentence(button, press));
    if (problem) await desk.whisper({ user, channel, thread }, problem);
  });

  app.view(sentenceModal, async ({ body, view, context, ack }) => {
    const desk = await deskOf(context.teamId);
    const { user } = userSchema.parse(body);
    const { text, about: press } = readSubmission(view, pressSchema);
    const verdict = await door.receive({
      ...(await actionOf(desk, user.id, press)),
      text,
      at: Date.now(),
    });
    const problem = problemOf(verdict);
    if (problem) await ack(problemInModal(problem));
  });
}

function readPress(body: unknown) {
  const { user, channel, message, trigger_id: trigger, actions } = pressedSchema.parse(body);
  const { ts, thread_ts: thread = ts } = message;
  return { user: user.id, channel: channel.id, thread, message: ts, trigger, action: actions[0] };
}

export function placeOf({ identity }: Desk, channel: string) {
  return { platform: "slack", workspace: identity.teamId, channel };
}

type ActionEvent = Extract<InboundEvent, { kind: "action" }>;

async function actionOf(
  desk: Desk,
  user: string,
  { channel, thread, message, action }: z.infer<typeof pressSchema>,
): Promise<Omit<ActionEvent, "at">> {
  const place = placeOf(desk, channel);
  const author = await desk.people.author(user);
  const where = { thread: { ...place, thread }, ref: { ...place, message } };
  return { kind: "action", ...where, author, action, tellsRefusal: true };
}

/** Opens a modal, which Slack allows for three seconds; gives a sentence for the person if it did not open. */
export async function openModal(
  { client }: Desk,
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
