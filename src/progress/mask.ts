import type { OutboundMessage, ShownCall } from "../chat/outbound.ts";
import type { ChatSurface } from "../chat/surface.ts";

type Mask = (text: string) => string;

/** The message with secrets hidden wherever people read it. */
export function maskMessage(message: OutboundMessage, mask: Mask): OutboundMessage {
  const { markdown, footer, calls, actions } = message;
  return {
    ...message,
    markdown: mask(markdown),
    ...(footer !== undefined && { footer: mask(footer) }),
    ...(calls && {
      calls: {
        above: mask(calls.above),
        below: mask(calls.below),
        title: mask(calls.title),
        items: calls.items.map((call) => maskCall(call, mask)),
      },
    }),
    ...(actions && { actions: actions.map((action) => ({ ...action, label: mask(action.label) })) }),
  };
}

function maskCall({ name, about, result, ...call }: ShownCall, mask: Mask): ShownCall {
  return {
    ...call,
    name: mask(name),
    about: mask(about),
    ...(result !== undefined && { result: mask(result) }),
  };
}

/**
 * The same surface for whoever writes to it: a reply of intake, a notice, a turn. The content of files passes as it
 * is; only what the sandbox holds can be in it, and no secret of Heddle's gets there.
 */
export function createMaskedSurface(surface: ChatSurface, mask: Mask): ChatSurface {
  return {
    ...surface,
    post: (thread, message, ...rest) => surface.post(thread, maskMessage(message, mask), ...rest),
    edit: (ref, message) => surface.edit(ref, maskMessage(message, mask)),
    upload: (thread, file, key) => surface.upload(thread, { ...file, name: mask(file.name) }, key),
  };
}
