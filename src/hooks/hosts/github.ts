import { z } from "zod";
import { answerTask, describeFailedChecks, type Feedback, type HostEvents } from "./host-events.ts";

const named = z.looseObject({ repository: z.looseObject({ full_name: z.string() }) });

export const githubEvents: HostEvents = {
  request: "pull request",
  sign: "#",
  proof: () => ({ verify: "github" }),
  repositoryOf: (payload) => named.safeParse(payload).data?.repository.full_name,
  read: ({ kind, payload }) => (Object.hasOwn(readers, kind) ? readers[kind]?.(payload) : undefined),
};

/** Not a program: what those write, Heddle's own App among them, would go on for ever. */
const person = z.looseObject({ login: z.string().max(100), type: z.literal("User") });

/** https://docs.github.com/en/webhooks/webhook-events-and-payloads#check_suite */
const checkSuite = z.looseObject({
  action: z.literal("completed"),
  check_suite: z.looseObject({
    conclusion: z.enum(["failure", "timed_out", "startup_failure"]),
    head_branch: z.string().max(300),
    head_sha: z.string().regex(/^[0-9a-f]{7,64}$/),
    app: z.looseObject({ name: z.string().max(100) }).optional(),
  }),
});

/** Whom GitHub knows as somebody with a say in the repository: everybody else may write into a public one as well. */
const association = z.enum(["OWNER", "MEMBER", "COLLABORATOR"]);

/** https://docs.github.com/en/webhooks/webhook-events-and-payloads#pull_request_review */
const review = z.looseObject({
  action: z.literal("submitted"),
  pull_request: z.looseObject({ number: z.int() }),
  review: z.looseObject({
    state: z.enum(["changes_requested", "commented"]),
    body: z.string().nullish(),
    user: person,
    author_association: association,
  }),
});

/** https://docs.github.com/en/webhooks/webhook-events-and-payloads#pull_request_review_comment */
const reviewComment = z.looseObject({
  action: z.literal("created"),
  pull_request: z.looseObject({ number: z.int() }),
  comment: z.looseObject({
    body: z.string(),
    path: z.string().max(4_096),
    line: z.int().nullish(),
    diff_hunk: z.string().optional(),
    user: person,
    author_association: association,
  }),
});

/** https://docs.github.com/en/webhooks/webhook-events-and-payloads#issue_comment */
const comment = z.looseObject({
  action: z.literal("created"),
  issue: z.looseObject({ number: z.int(), pull_request: z.looseObject({}) }),
  comment: z.looseObject({ body: z.string(), user: person, author_association: association }),
});

/** By the kind of the event. */
const readers: Readonly<Record<string, (payload: unknown) => Feedback | undefined>> = {
  check_suite(payload) {
    const { data } = checkSuite.safeParse(payload);
    if (!data) return undefined;
    const { conclusion, head_branch, head_sha, app } = data.check_suite;
    const failed = describeFailedChecks(head_sha, conclusion.replaceAll("_", " "), app ? [app.name] : []);
    return { branch: head_branch, ...failed };
  },
  pull_request_review(payload) {
    const { data } = review.safeParse(payload);
    // A review of nothing but remarks on lines comes with an event for each of them.
    if (!data || (!data.review.body && data.review.state === "commented")) return undefined;
    const { state, user, body } = data.review;
    const said = state === "changes_requested" ? "has asked for changes" : "has reviewed it";
    const { number } = data.pull_request;
    return {
      number,
      news: `${user.login} ${said}.`,
      task: answerTask,
      quoted: `${user.login}: ${body ?? ""}`,
    };
  },
  pull_request_review_comment(payload) {
    const { data } = reviewComment.safeParse(payload);
    if (!data) return undefined;
    const { user, body, path, line, diff_hunk: hunk = "" } = data.comment;
    const where = `${path}${line ? `:${line}` : ""}`;
    const quoted = `${user.login} on ${where}:\n${body}\n\n${hunk}`.trimEnd();
    const { number } = data.pull_request;
    return { number, news: `${user.login} has remarked on a line.`, task: answerTask, quoted };
  },
  issue_comment(payload) {
    const { data } = comment.safeParse(payload);
    if (!data) return undefined;
    const { user, body } = data.comment;
    const { number } = data.issue;
    return {
      number,
      news: `${user.login} has commented.`,
      task: answerTask,
      quoted: `${user.login}: ${body}`,
    };
  },
};
