import type { Message } from "../messages.ts";
import type { ModelRequest } from "../model.ts";
import type { AttemptFailed } from "./attempt-failed.ts";

/** Remembers which images a model's service has refused. */
export interface RefusedImages {
  /** The request without them. */
  accepted(request: ModelRequest): ModelRequest;
  /** Whether it failed for its images; then they count as refused. */
  refuse(failure: AttemptFailed, request: ModelRequest): boolean;
}

/**
 * A service refuses images that are too tall, broken or too many. They stay in the history, so every further request
 * of the thread would be refused: they are left out instead. The model is told, and can look at an image again.
 */
export function createImageStripping(): RefusedImages {
  const refused = new WeakSet<Message>();
  // Refused images are rare, so a long conversation is not searched in every step.
  let isAnyRefused = false;
  return {
    accepted(request) {
      const { messages } = request;
      if (!isAnyRefused || !messages.some((message) => refused.has(message))) return request;
      return {
        ...request,
        messages: messages.map((message) => (refused.has(message) ? removeImages(message) : message)),
      };
    },
    refuse(failure, { messages }) {
      if (!isAboutImages(failure)) return false;
      const seen = messages.filter((message) => listImages(message) > 0 && !refused.has(message));
      for (const message of seen) refused.add(message);
      isAnyRefused ||= seen.length > 0;
      return seen.length > 0;
    },
  };
}

/** "At least one of the image dimensions exceed max allowed size: 8000 pixels", "Could not process image" */
function isAboutImages({ kind, detail }: AttemptFailed): boolean {
  if (kind === "invalid-request" || kind === "content-filter") return /\bimage/i.test(detail);
  // Without images a request is never too large in bytes: the context window is full long before.
  return kind === "overflow" && /maximum size|too large/i.test(detail);
}

function listImages(message: Message): number {
  return "images" in message ? (message.images?.length ?? 0) : 0;
}

function removeImages(message: Message): Message {
  if (message.role !== "user" && message.role !== "tool") return message;
  const { images: _, ...rest } = message;
  const note = `(${listImages(message)} left out: the model's service refused an image)`;
  return { ...rest, text: `${message.text}\n${note}` };
}
