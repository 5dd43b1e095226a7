import type { Redis } from "ioredis";
import type { InboundMessage, IntakeResult } from "../../chat/inbound.ts";
import { threadId } from "../../chat/threads.ts";
import type { AccountAuditEvent } from "../questions/account-audit.ts";
import { type CommandReader, runOnce, type Saying } from "./command-reader.ts";
import {
  answerDisconnectCommand,
  type DisconnectCommand,
  type OwnAccounts,
  readDisconnectCommand,
} from "./disconnect.ts";
import { answerNotifyCommand, type NotifyCommand, readNotifyCommand } from "./notify.ts";

/** What the commands of one person need. */
interface PersonalOptions {
  redis: Redis;
  /** Absent where no accounts of persons can be connected. */
  ownAccounts?: OwnAccounts | undefined;
  audit(event: AccountAuditEvent): void;
}

/** `!notify` and `!disconnect`: what a person has chosen and connected. */
export function createPersonalReader(
  { redis, audit, ownAccounts }: PersonalOptions,
  { answerAndMark }: Saying,
): CommandReader {
  const disconnect = async (event: InboundMessage, command: DisconnectCommand): Promise<IntakeResult> => {
    if (!ownAccounts) return answerAndMark(event, "Nobody can connect accounts here.");
    const { platform, workspace } = event.thread;
    const of = `${platform}:${workspace}:${event.author.id}`;
    const { markdown, disconnected } = await answerDisconnectCommand(ownAccounts, of, command);
    if (disconnected !== undefined) {
      const thread = threadId(event.thread);
      audit({ action: "account-disconnected", server: disconnected, of, thread, by: event.author });
    }
    return answerAndMark(event, markdown);
  };
  const notify = async (event: InboundMessage, command: NotifyCommand): Promise<IntakeResult> =>
    answerAndMark(event, await answerNotifyCommand(redis, event, command));
  return (event) => {
    const chosen = readNotifyCommand(event.text);
    if (chosen) return () => runOnce(redis, event, () => notify(event, chosen));
    const command = readDisconnectCommand(event.text);
    return command && (() => runOnce(redis, event, () => disconnect(event, command)));
  };
}
