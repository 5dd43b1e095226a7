import { ChannelType, type REST, Routes } from "discord.js";
import { z } from "zod";
import type { ChatSurface } from "../../../chat/surface.ts";
import { directWorkspace, locateMessage } from "../connection/ids.ts";
import type { People } from "../connection/people.ts";
import type { DiscordCall } from "./call.ts";
import { toSurfaceError } from "./errors.ts";

const nameSchema = z.object({ name: z.string().nullish() });
const typeSchema = z.object({ type: z.number() });
const privateTypes = new Set<number>([ChannelType.PrivateThread]);
const unknownChannel = 10_003;

/** Creates what asks Discord about a place or a person, and changes nothing. */
export function createLookUps({
  rest,
  call,
  people,
}: {
  rest: REST;
  call: DiscordCall;
  people: People;
}): Required<Pick<ChatSurface, "channelName" | "isOpenThread" | "linkTo" | "person">> {
  return {
    async channelName(thread) {
      if (thread.workspace === directWorkspace) return "direct messages";
      const channel = await call("the look-up of a channel", thread, () =>
        rest.get(Routes.channel(thread.channel)),
      );
      return nameSchema.parse(channel).name ?? undefined;
    },

    async linkTo(ref) {
      const { where, message } = locateMessage(ref);
      const server = ref.workspace === directWorkspace ? "@me" : ref.workspace;
      return `https://discord.com/channels/${server}/${where}/${message}`;
    },

    async isOpenThread(thread) {
      if (thread.workspace === directWorkspace) return true;
      const found = await call(
        "the look-up of a thread",
        thread,
        () => rest.get(Routes.channel(thread.thread)),
        // It is made at its message, for everybody, when there is something to show.
        [unknownChannel],
      );
      return found === undefined || !privateTypes.has(typeSchema.parse(found).type);
    },

    person: async ({ workspace }, id) => {
      try {
        return await people(id, workspace);
      } catch (error) {
        throw toSurfaceError("the look-up of a person", error);
      }
    },
  };
}
