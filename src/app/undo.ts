import { isDirect } from "../chat/threads.ts";
import type { UndoDeps } from "../queue/undo/contracts.ts";
import type { AppContext } from "./context.ts";

/** What undoing and forking need of this host and of the platforms. */
export function createUndoDeps(
  {
    sandbox,
    masker,
    output,
    surface: surfaceOf,
  }: Pick<AppContext, "sandbox" | "masker" | "output" | "surface">,
  onError: (error: unknown) => void,
): UndoDeps {
  return {
    checkpoints: async () => ((await sandbox.probe()).ok ? sandbox.backend.checkpoints?.() : undefined),
    async openThread(beside, { markdown, key, since, title }, signal) {
      const surface = surfaceOf(beside.platform);
      const { openThread } = surface;
      if (!openThread || isDirect(beside))
        return { why: "I cannot fork this: threads can be begun in channels alone." };
      if ((await surface.isOpenThread?.(beside)) === false)
        return {
          why: "I cannot fork this: the thread is private, and everybody in the channel would see the new one.",
        };
      const { platform, workspace, channel } = beside;
      const place = { platform, workspace, channel, thread: channel };
      return output.write(surface, place, "question", signal, () =>
        openThread({ platform, workspace, channel }, markdown, key, since, title),
      );
    },
    async editOpening({ ref }, markdown, signal) {
      const surface = surfaceOf(ref.platform);
      const edit = () => surface.edit(ref, { kind: "notice", markdown });
      await output.write(surface, ref, "question", signal, edit, "edits");
    },
    addressOf: (thread) => surfaceOf(thread.platform).addressOf?.(thread),
    mask: (text) => masker.mask(text),
    onError,
  };
}
