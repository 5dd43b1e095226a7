import { z } from "zod";
import { answerTask, describeFailedChecks, type Feedback, type HostEvents } from "./host-events.ts";

/**
 * Gitea's events, which are Forgejo's too. Their payloads: modules/structs/hook.go of Gitea, and
 * https://docs.gitea.com/usage/repository/webhooks. What an event is stands in its payload as well as in its header, in
 * which names have changed.
 */
const named = z.looseObject({ repository: z.looseObject({ full_name: z.string() }) });
/** Forgejo's events of Actions name it there alone. */
const namedInRun = z.looseObject({ run: named });
const user = z.looseObject({ id: z.int(), login: z.string().max(100) });
const sha = z.string().regex(/^[0-9a-f]{7,64}$/);

/** A commit's status, of whatever CI. */
const status = z.looseObject({ state: z.enum(["failure", "error"]), sha, context: z.string() });

/** Gitea Actions, from 1.24 on. */
const workflowRun = z.looseObject({
  action: z.literal("completed"),
  workflow_run: z.looseObject({
    conclusion: z.literal("failure"),
    head_branch: z.string().max(300),
    head_sha: sha,
    display_title: z.string().optional(),
  }),
});

/**
 * Forgejo Actions: `ActionPayload` of modules/structs/hook.go and `ActionRun` of modules/structs/action.go of Forgejo. It
 * tells of runs that have ended, as success, recovery or failure. The branch stands only in a text for people.
 */
const actionRun = z.looseObject({
  action: z.literal("failure"),
  run: z.looseObject({ commit_sha: sha, title: z.string(), workflow_id: z.string() }),
});

const comment = z.looseObject({
  action: z.literal("created"),
  is_pull: z.literal(true),
  issue: z.looseObject({ number: z.int(), user }),
  comment: z.looseObject({ body: z.string(), user }),
});

const review = z.looseObject({
  action: z.literal("reviewed"),
  pull_request: z.looseObject({ number: z.int(), user }),
  review: z.looseObject({
    type: z.enum(["pull_request_review_rejected", "pull_request_review_comment"]),
    content: z.string(),
  }),
  sender: user,
});

export const giteaEvents: HostEvents = {
  request: "pull request",
  sign: "#",
  proof: () => ({ verify: "hmac", header: "X-Gitea-Signature", idHeader: "X-Gitea-Delivery" }),
  repositoryOf: (payload) =>
    (named.safeParse(payload).data ?? namedInRun.safeParse(payload).data?.run)?.repository.full_name,
  read: ({ payload }) =>
    readStatus(payload) ??
    readRun(payload) ??
    readActionRun(payload) ??
    readComment(payload) ??
    readReview(payload),
};

function readStatus(payload: unknown): Feedback | undefined {
  const { data } = status.safeParse(payload);
  if (!data) return undefined;
  return {
    commit: data.sha,
    ...describeFailedChecks(data.sha, data.state, [data.context]),
    // Of one commit many checks may fail, and Actions tell of theirs twice.
    once: `checks-${data.sha}`,
  };
}

function readRun(payload: unknown): Feedback | undefined {
  const { data } = workflowRun.safeParse(payload);
  if (!data) return undefined;
  const { head_branch: branch, head_sha: commit, conclusion, display_title: title } = data.workflow_run;
  const failed = describeFailedChecks(commit, conclusion, title === undefined ? [] : [title]);
  return { branch, commit, ...failed, once: `checks-${commit}` };
}

function readActionRun(payload: unknown): Feedback | undefined {
  const { data } = actionRun.safeParse(payload);
  if (!data) return undefined;
  const { commit_sha: commit, title, workflow_id: workflow } = data.run;
  const failed = describeFailedChecks(commit, data.action, [`${workflow} (${title})`]);
  return { commit, ...failed, once: `checks-${commit}` };
}

function readComment(payload: unknown): Feedback | undefined {
  const { data } = comment.safeParse(payload);
  if (!data) return undefined;
  const { issue } = data;
  const { user: by, body } = data.comment;
  // Whoever has opened it is Heddle's own account.
  if (by.id === issue.user.id) return undefined;
  const quoted = `${by.login}: ${body}`;
  return { number: issue.number, news: `${by.login} has commented.`, task: answerTask, quoted, by };
}

function readReview(payload: unknown): Feedback | undefined {
  const { data } = review.safeParse(payload);
  if (!data) return undefined;
  const { sender: by, pull_request: pull } = data;
  if (by.id === pull.user.id) return undefined;
  const { type, content } = data.review;
  const said = type === "pull_request_review_rejected" ? "has asked for changes" : "has reviewed it";
  return {
    ...{ number: pull.number, news: `${by.login} ${said}.`, task: answerTask },
    ...{ quoted: `${by.login}: ${content}`, by, lacksRemarks: true },
  };
}
