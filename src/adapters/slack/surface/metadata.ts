import type { types } from "@slack/bolt";

/** What marks a message as ours, and by which `findPosted` and `findPart` find it again. */
export function createMetadata(mark: { key: string; part?: string }): types.MessageMetadata {
  return { event_type: "heddle_message", event_payload: mark };
}
