import type { OutboundMessage, ShownCall } from "../chat/outbound.ts";
import type { ChatSurface } from "../chat/surface.ts";

type Mask = (text: string) => string;

/** Hides secrets everywhere in a message that people read. */
export function maskMessage(message: OutboundMessage, mask: Mask): OutboundMessage {
  const { markdown, footer, calls, actions, file, growing } = message;
  return {
    ...message,
    markdown: mask(markdown),
    ...(footer !== undefined && { footer: mask(footer) }),
    ...(file && { file: { name: mask(file.name), text: mask(file.text) } }),
    ...(growing && { growing: { ...growing, text: mask(growing.text), title: mask(growing.title) } }),
    ...(calls && {
      calls: {
        ...calls,
        above: mask(calls.above),
        below: mask(calls.below),
        title: mask(calls.title),
        items: calls.items.map((call) => maskCall(call, mask)),
      },
    }),
    ...(actions && { actions: actions.map((action) => ({ ...action, label: mask(action.label) })) }),
  };
}

function maskCall({ name, about, title, result, output, ...call }: ShownCall, mask: Mask): ShownCall {
  return {
    ...call,
    name: mask(name),
    about: mask(about),
    ...(title !== undefined && { title: mask(title) }),
    ...(result !== undefined && { result: mask(result) }),
    ...(output !== undefined && { output: mask(output) }),
  };
}

/**
 * A surface that masks secrets in everything that is written through it: replies, notices, turns. The content of files
 * is not masked; it comes from the sandbox, which never sees a secret of Heddle's.
 */
export function createMaskedSurface(surface: ChatSurface, mask: Mask): ChatSurface {
  const { tellPrivately, openThread, replyTo, status } = surface;
  return {
    ...surface,
    ...(tellPrivately && {
      tellPrivately: (thread, person, text) => tellPrivately(thread, person, mask(text)),
    }),
    ...(status && {
      status: (thread, text, waits, title) => status(thread, text && mask(text), waits, title && mask(title)),
    }),
    ...(replyTo && { replyTo: (ref, markdown, ...rest) => replyTo(ref, mask(markdown), ...rest) }),
    ...(openThread && {
      openThread: (channel, markdown, ...rest) => openThread(channel, mask(markdown), ...rest),
    }),
    post: (thread, message, ...rest) => surface.post(thread, maskMessage(message, mask), ...rest),
    edit: (ref, message) => surface.edit(ref, maskMessage(message, mask)),
    upload: (thread, file, ...rest) => surface.upload(thread, { ...file, name: mask(file.name) }, ...rest),
  };
}
