import { z } from "zod";
import { joinedChannelOf, type Method } from "./method.ts";
import { invalid, Refusal } from "./refusal.ts";
import { wireFile } from "./workspace.ts";

const filesSchema = z.array(z.strictObject({ id: z.string(), title: z.string().optional() })).min(1);

/** The three steps of an upload; the bytes go to the address that the first one tells. */
export const fileMethods: Record<string, Method> = {
  "files.getUploadURLExternal": {
    token: "bot",
    args: "filename length alt_txt snippet_type",
    scope: "files:write",
    run: (args, { workspace, address }) => {
      const name = args.text("filename");
      const length = Number(args.text("length"));
      if (!Number.isInteger(length) || length < 1)
        throw invalid("invalid_arguments", "[ERROR] length must be positive");
      const file = {
        id: workspace.id("F"),
        name,
        mediaType: "application/octet-stream",
        user: workspace.bot.id,
        isIncomplete: true,
      };
      workspace.files.set(file.id, file);
      return { upload_url: address(`/upload/${file.id}`), file_id: file.id };
    },
  },

  "files.completeUploadExternal": {
    token: "bot",
    args: "files channel_id thread_ts initial_comment",
    scope: "files:write",
    run: (args, context) => {
      const { workspace } = context;
      const listed = filesSchema.safeParse(args.json("files"));
      if (!listed.success) throw invalid("invalid_arguments", "[ERROR] files is not a list of files");
      const files = listed.data.map(({ id }) => {
        const file = workspace.files.get(id);
        if (!file?.content) throw new Refusal("file_not_found");
        file.isIncomplete = false;
        return file;
      });
      if (args.has("channel_id")) {
        const channel = joinedChannelOf(args, context, "channel_id");
        const threadTs = args.optionalText("thread_ts");
        if (threadTs !== undefined && !workspace.message(channel, threadTs))
          throw new Refusal("thread_not_found");
        const text = args.optionalText("initial_comment") ?? "";
        workspace.post({ channel, user: workspace.bot, text, files, ...(threadTs && { threadTs }) });
      }
      return { files: files.map(({ id, name }) => ({ id, title: name })) };
    },
  },

  "files.info": {
    token: "bot",
    args: "file",
    scope: "files:read",
    run: (args, { workspace }) => {
      const file = workspace.files.get(args.text("file"));
      if (!file?.content || file.isIncomplete) throw new Refusal("file_not_found");
      return { file: wireFile(workspace, file) };
    },
  },
};
