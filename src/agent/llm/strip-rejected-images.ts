import { readImageSize } from "../images/image-size.ts";
import type { Image, Message } from "../messages.ts";
import type { ModelRequest } from "../model.ts";
import type { AttemptFailed } from "./attempt-failed.ts";
import { locateImages } from "./locate-image.ts";
import { memoizeByPrefix } from "./wire-history.ts";

/** Remembers which images a model's service has refused. */
export interface RefusedImages {
  /** The request without them. */
  accepted(request: ModelRequest): ModelRequest;
  /** Whether it failed for images; then those count as refused. */
  refuse(failure: AttemptFailed, request: ModelRequest): boolean;
}

export interface ImageStrippingOptions {
  /** The longest side of an image that the service takes, in pixels, where that is known. */
  maxSide?: number | undefined;
  /** The request as it goes to the service, for places that it names in it. */
  toBody?: ((request: ModelRequest) => unknown) | undefined;
}

/**
 * A service refuses images that are too tall, broken or too many. They stay in the history, so every further request
 * of the thread would be refused: they are left out instead. Of several only those are that the service names, or that
 * are larger than it says; all of them where it says neither. The model is told why, and can look at an image again.
 */
export function createImageStripping({ maxSide, toBody }: ImageStrippingOptions = {}): RefusedImages {
  const refused = new WeakMap<Image, string>();
  const explain = (image: Image): string | undefined =>
    refused.get(image) ?? (maxSide === undefined ? undefined : explainSize(image, maxSide));
  const strip = (message: Message) => removeImages(message, explain);
  const begin = () =>
    memoizeByPrefix(
      (): { messages: Message[]; isAny: boolean } => ({ messages: [], isAny: false }),
      (state, message) => {
        const stripped = strip(message);
        state.messages.push(stripped);
        state.isAny ||= stripped !== message;
      },
    );
  // Each message is looked at once, so that a step in a long conversation costs only what is new in it.
  let read = begin();
  let isAnyRefused = false;
  const stripRefused = (request: ModelRequest): ModelRequest => {
    if (!isAnyRefused && maxSide === undefined) return request;
    const { messages, isAny } = read(request.messages);
    return isAny ? { ...request, messages } : request;
  };
  return {
    accepted: stripRefused,
    refuse(failure, request) {
      if (!isAboutImages(failure)) return false;
      const sent = stripRefused(request);
      const images = sent.messages.flatMap(listImages);
      const named = toBody ? locateImages(failure.detail, toBody(sent), images) : [];
      const meant = named.length > 0 ? named : findTooLarge(failure.detail, images);
      for (const image of meant.length > 0 ? meant : images)
        refused.set(image, "the model's service refused it");
      if (images.length > 0) read = begin();
      isAnyRefused ||= images.length > 0;
      return images.length > 0;
    },
  };
}

/** "At least one of the image dimensions exceed max allowed size: 8000 pixels", "Could not process image" */
function isAboutImages({ kind, detail }: AttemptFailed): boolean {
  if (kind === "invalid-request" || kind === "content-filter") return /\bimage/i.test(detail);
  // Without images a request is never too large in bytes: the context window is full long before.
  return kind === "overflow" && /maximum size|too large/i.test(detail);
}

/** The images that are larger than the service says that they may be. */
function findTooLarge(detail: string, images: readonly Image[]): Image[] {
  const side = Number(/(\d{1,9}) pixels/.exec(detail)?.[1] ?? Infinity);
  return images.filter((image) => explainSize(image, side) !== undefined);
}

function explainSize(image: Image, maxSide: number): string | undefined {
  const size = readImageSize(image);
  if (!size || Math.max(size.width, size.height) <= maxSide) return undefined;
  return `it has ${size.width} x ${size.height} pixels, and the model's service takes at most ${maxSide} a side. You have not seen it: make a smaller copy, or cut parts out of it, if a program here can; else tell the people so and ask for one of at most ${maxSide} pixels a side`;
}

function listImages(message: Message): readonly Image[] {
  return ("images" in message && message.images) || [];
}

function removeImages(message: Message, explain: (image: Image) => string | undefined): Message {
  if (message.role !== "user" && message.role !== "tool") return message;
  const images = listImages(message);
  const reasons = images.flatMap((image) => explain(image) ?? []);
  if (reasons.length === 0) return message;
  const kept = images.filter((image) => explain(image) === undefined);
  const { images: _, ...rest } = message;
  const notes = reasons.map((reason) => `(an image was left out: ${reason})`);
  return { ...rest, text: [message.text, ...notes].join("\n"), ...(kept.length > 0 && { images: kept }) };
}
