import { setTimeout as delay } from "node:timers/promises";
import {
  type APIComponentInMessageActionRow,
  type APIActionRowComponent,
  type APIInteractionResponse,
  InteractionResponseType,
  MessageFlags,
  type REST,
  Routes,
} from "discord.js";
import { z } from "zod";
import { explainResult, type IntakeResult } from "../../../chat/inbound.ts";
import { refusalCode } from "../connection/rest.ts";
import { cutForDiscord } from "../markdown/markdown.ts";
import { continueRow, menuRows } from "../surface/buttons.ts";
import { inputForm } from "../surface/forms.ts";
import { messageChars, nobody } from "../surface/render.ts";

/** What is needed to respond to an interaction. The token is valid for 15 minutes, of which we use some seconds. */
export interface InteractionToken {
  id: string;
  token: string;
  application_id: string;
}

const answerSchema = z.object({ interaction: z.object({ response_message_id: z.string().nullish() }) });

/** Acknowledged already, or unknown because more than three seconds have passed. */
const tooLate = new Set([40_060, 10_062]);

/**
 * Sends the first response, which Discord expects within three seconds. Several gateways receive the same interaction
 * and only one may respond to it.
 *
 * @returns undefined when another one was faster; otherwise the message that the response created, if any
 */
export async function respond(
  rest: REST,
  { id, token }: InteractionToken,
  body: APIInteractionResponse,
): Promise<{ message?: string } | undefined> {
  const query = new URLSearchParams({ with_response: "true" });
  try {
    const answer = await rest.post(Routes.interactionCallback(id, token), { body, query, auth: false });
    const message = answerSchema.safeParse(answer).data?.interaction.response_message_id;
    return message ? { message } : {};
  } catch (error) {
    if (tooLate.has(refusalCode(error) ?? 0)) return undefined;
    throw error;
  }
}

type Rows = APIActionRowComponent<APIComponentInMessageActionRow>[];

/** Replies so that only the person sees it. @param content CommonMark */
export async function replyEphemeral(
  rest: REST,
  token: InteractionToken,
  content: string,
  components: Rows = [],
): Promise<void> {
  await respond(rest, token, {
    type: InteractionResponseType.ChannelMessageWithSource,
    data: {
      content: cutForDiscord(content, messageChars),
      // For a preview Discord would fetch the address, which may be good for one person and one visit: no client may do
      // that (https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#safe-url-handling).
      flags: MessageFlags.Ephemeral | MessageFlags.SuppressEmbeds,
      allowed_mentions: nobody,
      ...(components.length > 0 && { components }),
    },
  });
}

/** Replaces the message whose menu was used. @param content CommonMark */
async function replaceMessage(
  rest: REST,
  token: InteractionToken,
  content: string,
  components: Rows,
): Promise<void> {
  await respond(rest, token, {
    type: InteractionResponseType.UpdateMessage,
    data: {
      content: cutForDiscord(content, messageChars),
      allowed_mentions: nobody,
      components,
    },
  });
}

/** What could not be confirmed may be stored all the same, as soon as Redis answers again. */
export const notConfirmed =
  "I could not make sure that this was taken. Look here again in a minute before you repeat it.";

/** How long a gateway that did not accept an interaction leaves the response to another one that may have. */
const yieldMs = 300;

/**
 * Persists an interaction, and only then acknowledges it: a second gateway may do the same.
 *
 * @param how.done for the person, of a command: Discord shows that one was done only where something is said
 * @param how.pressed the button, whose press may ask for a form, in parts if need be
 * @param how.replaces the answer takes the place of the message whose menu was used
 */
export async function replyWithResult(
  rest: REST,
  token: InteractionToken,
  receive: () => Promise<IntakeResult>,
  how: ResultReply = {},
): Promise<void> {
  let result: IntakeResult;
  try {
    result = await receive();
  } catch (error) {
    await replyEphemeral(rest, token, notConfirmed).catch(() => undefined);
    throw error;
  }
  if (result.kind === "acted" && result.form) {
    const { action = "", message, continues = false } = how.pressed ?? {};
    const data = inputForm(action, result.form, continues ? message : undefined);
    await respond(rest, token, { type: InteractionResponseType.Modal, data });
    return;
  }
  await showResult(rest, token, result, how);
}

interface ResultReply {
  done?: string;
  replaces?: boolean;
  pressed?: { action: string; message: string; continues: boolean };
}

async function showResult(
  rest: REST,
  token: InteractionToken,
  result: IntakeResult,
  { done, replaces = false, pressed }: ResultReply,
): Promise<void> {
  const problem = explainResult(result);
  if (problem) await delay(yieldMs);
  const { reply = done, menus = [] } = result.kind === "acted" ? result : { reply: problem ?? done };
  const isPart = result.kind === "acted" && result.continues === true;
  const rows = [
    ...menuRows(menus),
    ...(isPart && pressed ? [continueRow(pressed.message, pressed.action)] : []),
  ];
  if (reply && replaces && !problem) return replaceMessage(rest, token, reply, rows);
  if (reply) return replyEphemeral(rest, token, reply, rows);
  await respond(rest, token, { type: InteractionResponseType.DeferredMessageUpdate });
}

/** Changes the message that the first response created. */
export async function changeReply(
  rest: REST,
  { application_id, token }: InteractionToken,
  content: string,
): Promise<void> {
  const body = { content, allowed_mentions: nobody };
  await rest.patch(Routes.webhookMessage(application_id, token, "@original"), { body, auth: false });
}
