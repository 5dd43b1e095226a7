import type { Image } from "../messages.ts";

/**
 * Which of the images a service means that names their place in the request, e.g. `messages.2.content.1.image.source` or
 * `input[2].content[1].image_url`; none where it names no place.
 *
 * @param body the request as it was sent
 */
export function locateImages(detail: string, body: unknown, images: readonly Image[]): Image[] {
  const path = /\b(?:messages|input)(?:\.\w+|\[\d+\])+/.exec(detail)?.[0];
  if (path === undefined) return [];
  let at = body;
  for (const key of path.split(/[.[\]]+/)) {
    // Some name the kind of a block in its path, too: that leads nowhere.
    if (typeof at === "object" && at !== null && Object.hasOwn(at, key)) at = Reflect.get(at, key);
  }
  const texts = listTexts(at);
  // As it is, or at the end of a data URL.
  return images.filter(({ data }) => texts.some((text) => text.endsWith(data)));
}

function listTexts(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(listTexts) : [];
}
