import { z } from "zod";
import { answerTask, describeFailedChecks, type Feedback, type HostEvents } from "./host-events.ts";

const named = z.looseObject({ project: z.looseObject({ path_with_namespace: z.string() }) });

/** https://docs.gitlab.com/user/project/integrations/webhook_events/#pipeline-events */
const pipeline = z.looseObject({
  object_kind: z.literal("pipeline"),
  object_attributes: z.looseObject({
    status: z.literal("failed"),
    ref: z.string().max(300),
    sha: z.string().regex(/^[0-9a-f]{7,64}$/),
    tag: z.literal(false),
  }),
  merge_request: z.looseObject({ iid: z.int() }).nullish(),
  builds: z
    .array(z.looseObject({ name: z.string(), status: z.string(), allow_failure: z.boolean().optional() }))
    .optional(),
});

/** https://docs.gitlab.com/user/project/integrations/webhook_events/#comment-on-a-merge-request */
const note = z.looseObject({
  object_kind: z.literal("note"),
  // A note about something confidential is of another kind.
  event_type: z.literal("note"),
  user: z.looseObject({ id: z.int(), username: z.string().max(300) }),
  object_attributes: z.looseObject({
    note: z.string(),
    noteable_type: z.literal("MergeRequest"),
    // Before 16.11 it is not told; changes of a note came as another event then.
    action: z.literal("create").optional(),
    system: z.literal(false),
    position: z
      .looseObject({
        new_path: z.string().max(4_096).nullish(),
        old_path: z.string().max(4_096).nullish(),
        new_line: z.int().nullish(),
        old_line: z.int().nullish(),
      })
      .nullish(),
  }),
  merge_request: z.looseObject({ iid: z.int(), author_id: z.int() }),
});

/** The accounts of tokens: https://docs.gitlab.com/user/project/settings/project_access_tokens/#bot-users-for-projects */
const botName = /^(?:project|group)_\d+_bot/;

export const gitlabEvents: HostEvents = {
  request: "merge request",
  sign: "!",
  // What signs has a form of its own; the older secret is sent along as it is.
  proof: (secret) => ({ verify: secret.startsWith("whsec_") ? "standard-webhooks" : "gitlab" }),
  repositoryOf: (payload) => named.safeParse(payload).data?.project.path_with_namespace,
  read: ({ payload }) => readPipeline(payload) ?? readNote(payload),
};

function readPipeline(payload: unknown): Feedback | undefined {
  const { data } = pipeline.safeParse(payload);
  if (!data) return undefined;
  const { ref, sha } = data.object_attributes;
  const failed = (data.builds ?? []).filter((each) => each.status === "failed" && !each.allow_failure);
  const names = failed.slice(0, 20).map(({ name }) => name);
  // In a pipeline of a merge request `ref` may be of a fork, and is no branch of here.
  const place = data.merge_request ? { number: data.merge_request.iid } : { branch: ref };
  // A commit may have a pipeline of its branch and one of its merge request.
  return { ...place, ...describeFailedChecks(sha, "failed", names), once: `checks-${sha}` };
}

function readNote(payload: unknown): Feedback | undefined {
  const { data } = note.safeParse(payload);
  if (!data) return undefined;
  const { user, object_attributes, merge_request } = data;
  // Whoever has opened it is Heddle's own account; what programs write would go on for ever.
  if (user.id === merge_request.author_id || botName.test(user.username)) return undefined;
  const { position } = object_attributes;
  const path = position?.new_path ?? position?.old_path;
  const line = position?.new_line ?? position?.old_line;
  const where = path ? ` on ${path}${line ? `:${line}` : ""}` : "";
  return {
    number: merge_request.iid,
    news: `${user.username} has ${path ? "remarked on a line" : "commented"}.`,
    task: answerTask,
    quoted: `${user.username}${where}:${path ? "\n" : " "}${object_attributes.note}`,
    by: { id: user.id, login: user.username },
  };
}
