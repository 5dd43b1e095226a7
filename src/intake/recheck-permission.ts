import type { Speaker } from "../agent/messages.ts";
import { escapeMarkdown } from "../chat/escape-markdown.ts";
import { type ChatSurface, SurfaceError } from "../chat/surface.ts";
import { parseThreadId, type ThreadId } from "../chat/threads.ts";
import type { Access } from "./access.ts";

/** `why` is a sentence for the thread, in CommonMark. */
type StillAllowed = { allowed: true } | { allowed: false; why: string };

/**
 * Checks whether the person who scheduled a task may still ask for it, by what the platform says about them now.
 * @throws SurfaceError when the platform does not answer, so that the check is retried
 */
export async function checkPermission(
  thread: ThreadId,
  { id, name }: Speaker,
  { access, surface: surfaceOf }: { access: Pick<Access, "mayAsk">; surface(platform: string): ChatSurface },
): Promise<StillAllowed> {
  const place = parseThreadId(thread);
  const surface = surfaceOf(place.platform);
  if (!surface.person) return { allowed: true };
  try {
    const author = await surface.person(place, id);
    if (author && access.mayAsk(place, author)) return { allowed: true };
  } catch (error) {
    const isFinal = error instanceof SurfaceError && (error.kind === "gone" || error.kind === "forbidden");
    if (!isFinal) throw error;
    return { allowed: false, why: error.message };
  }
  return { allowed: false, why: `${escapeMarkdown(name)} may not give me work here any more.` };
}
