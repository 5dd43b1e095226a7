import type { Author, InboundEvent } from "../adapters/adapter.ts";

/** May this person do this? A refusal without a reply is silent: answering strangers is a channel too. */
export type Permission = { allowed: true } | { allowed: false; why: string; reply?: string };

/**
 * The one table for every kind of event on every platform. What is not listed is denied.
 *
 * - `message`, `edit`, `delete`, `stop`, `action`: members of the workspace. Guests and people of other organisations are told so.
 * - bots: never, so that two agents cannot talk to each other for ever.
 */
const table: Record<InboundEvent["kind"], Record<Author["standing"], "allow" | "refuse" | "ignore">> = {
  message: { member: "allow", guest: "refuse", external: "refuse", bot: "ignore" },
  // Only of messages that were accepted: whoever was allowed to write one may take it back.
  edit: { member: "allow", guest: "ignore", external: "ignore", bot: "ignore" },
  delete: { member: "allow", guest: "ignore", external: "ignore", bot: "ignore" },
  stop: { member: "allow", guest: "ignore", external: "ignore", bot: "ignore" },
  action: { member: "allow", guest: "ignore", external: "ignore", bot: "ignore" },
};

export function permission(event: InboundEvent): Permission {
  const { standing } = event.author;
  switch (table[event.kind][standing]) {
    case "allow":
      return { allowed: true };
    case "ignore":
      return { allowed: false, why: `${event.kind} by a ${standing}` };
    case "refuse":
      return {
        allowed: false,
        why: `${event.kind} by a ${standing}`,
        reply: `I only take work from members of this workspace, and you are here as ${
          standing === "guest" ? "a guest" : "a visitor from another organisation"
        }. Please ask a member.`,
      };
  }
}
