import { visibleText } from "./blocks.ts";
import type { FakeChannel, FakeMessage, Workspace } from "./workspace.ts";

/**
 * A channel as people read it, threads indented under their first message:
 *
 *     ada: @heddle hi  :white_check_mark:
 *       heddle: Hello, Ada.
 *         [Stop]
 */
export function transcript(workspace: Workspace, channel: FakeChannel): string {
  const topLevel = channel.messages.filter(({ threadTs, ts }) => threadTs === undefined || threadTs === ts);
  const threads = topLevel.flatMap((message) => {
    const replies = channel.messages.filter(
      ({ threadTs, ts }) => threadTs === message.ts && ts !== message.ts,
    );
    return [...lines(workspace, message, ""), ...replies.flatMap((reply) => lines(workspace, reply, "  "))];
  });
  return threads.join("\n");
}

function lines(workspace: Workspace, message: FakeMessage, indent: string): string[] {
  const text = visibleText(message).replaceAll(/<@([A-Z0-9]+)>/g, (_mention, id: string) => {
    return `@${workspace.users.get(id)?.name ?? id}`;
  });
  const edited = message.editedTs === undefined ? "" : " (edited)";
  const reactions = [...message.reactions.keys()].map((name) => `  :${name}:`).join("");
  const [first = "", ...others] = text.split("\n");
  return [
    `${indent}${message.user.name}: ${first}${edited}${reactions}`,
    ...others.map((line) => `${indent}  ${line}`.trimEnd()),
  ];
}
