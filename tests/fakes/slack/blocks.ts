import { z } from "zod";
import type { FakeBlock, FakeMessage } from "./workspace.ts";

/**
 * What Slack accepts as the blocks of a message; only the kinds that a bot like ours sends.
 * https://docs.slack.dev/reference/block-kit/blocks
 */

const plainText = (max: number) =>
  z.strictObject({ type: z.literal("plain_text"), text: z.string().min(1).max(max) });
const mrkdwn = z.strictObject({
  type: z.literal("mrkdwn"),
  text: z.string().min(1).max(3_000),
  verbatim: z.boolean().optional(),
});

const button = z.strictObject({
  type: z.literal("button"),
  action_id: z.string().min(1).max(255),
  text: plainText(75),
  style: z.enum(["primary", "danger"]).optional(),
  value: z.string().max(2_000).optional(),
});

// The form that Slack's own examples have; whether a card takes another is not documented.
const richText = z.strictObject({
  type: z.literal("rich_text"),
  elements: z.tuple([
    z.strictObject({
      type: z.literal("rich_text_section"),
      elements: z
        .array(
          z.strictObject({
            type: z.literal("text"),
            text: z.string().min(1),
            style: z.strictObject({ code: z.boolean() }).optional(),
          }),
        )
        .min(1),
    }),
  ]),
});

const taskCard = z.strictObject({
  type: z.literal("task_card"),
  task_id: z.string().min(1),
  title: z.string().min(1),
  status: z.enum(["pending", "in_progress", "complete", "error"]),
  output: richText.optional(),
});

// https://docs.slack.dev/reference/block-kit/block-elements/feedback-buttons-element
const feedbackChoice = z.strictObject({
  text: plainText(75),
  value: z.string().max(2_000),
  accessibility_label: z.string().max(75).optional(),
});

// https://docs.slack.dev/reference/block-kit/blocks/context-actions-block
const contextActions = z.strictObject({
  type: z.literal("context_actions"),
  elements: z
    .array(
      z.strictObject({
        type: z.literal("feedback_buttons"),
        action_id: z.string().min(1).max(255),
        positive_button: feedbackChoice,
        negative_button: feedbackChoice,
      }),
    )
    .min(1)
    .max(5),
});

// https://docs.slack.dev/reference/block-kit/blocks/data-table-block
const rawText = z.strictObject({ type: z.literal("raw_text"), text: z.string().min(1) });
const rawNumber = z.strictObject({
  type: z.literal("raw_number"),
  value: z.number(),
  text: z.string().min(1).optional(),
});
// https://docs.slack.dev/reference/block-kit/blocks/rich-text-block#element-types
const cellStyle = z
  .strictObject({
    bold: z.boolean().optional(),
    italic: z.boolean().optional(),
    strike: z.boolean().optional(),
    code: z.boolean().optional(),
  })
  .optional();
const richCell = z.strictObject({
  type: z.literal("rich_text"),
  elements: z.tuple([
    z.strictObject({
      type: z.literal("rich_text_section"),
      elements: z
        .array(
          z.discriminatedUnion("type", [
            z.strictObject({ type: z.literal("text"), text: z.string().min(1), style: cellStyle }),
            z.strictObject({
              ...{ type: z.literal("link"), url: z.string().min(1), text: z.string().optional() },
              style: cellStyle,
            }),
          ]),
        )
        .min(1),
    }),
  ]),
});
const dataTable = z
  .strictObject({
    type: z.literal("data_table"),
    caption: z.string().min(1),
    page_size: z.number().int().min(1).max(100).optional(),
    row_header_column_index: z.number().int().min(0).optional(),
    rows: z
      .array(
        z
          .array(z.discriminatedUnion("type", [rawText, rawNumber, richCell]))
          .min(1)
          .max(20),
      )
      .min(2)
      .max(101),
  })
  .refine(({ rows }) => new Set(rows.map(({ length }) => length)).size === 1, "rows of different lengths")
  .refine(({ rows }) => rows[0]?.every(({ type }) => type !== "rich_text"), "rich_text in the header");

const block = z.discriminatedUnion("type", [
  dataTable,
  contextActions,
  z.strictObject({ type: z.literal("plan"), title: z.string().min(1), tasks: z.array(taskCard) }),
  taskCard,
  z.strictObject({ type: z.literal("markdown"), text: z.string().min(1).max(12_000) }),
  z.strictObject({ type: z.literal("section"), text: z.union([mrkdwn, plainText(3_000)]) }),
  z.strictObject({ type: z.literal("header"), text: plainText(150) }),
  z.strictObject({ type: z.literal("divider") }),
  z.strictObject({
    type: z.literal("context"),
    elements: z
      .array(z.union([mrkdwn, plainText(3_000)]))
      .min(1)
      .max(10),
  }),
  z.strictObject({
    type: z.literal("actions"),
    elements: z
      .array(button)
      .min(1)
      .max(25)
      .refine(
        (all) => new Set(all.map((element) => element.action_id)).size === all.length,
        "action_id twice",
      ),
  }),
]);

const blocks = z.array(z.looseObject({ type: z.string() })).max(50);

/** The blocks, or Slack's refusal. */
export function checkBlocks(
  value: unknown,
): { ok: true; blocks: FakeBlock[] } | { ok: false; error: string; messages: string[] } {
  const list = blocks.safeParse(value);
  const parsed = list.success ? z.array(block).safeParse(list.data) : list;
  if (!list.success || !parsed.success) {
    const issues = parsed.error?.issues ?? [];
    const messages = issues.map(
      ({ message, path }) => `[ERROR] ${message} [json-pointer:/blocks/${path.join("/")}]`,
    );
    return { ok: false, error: "invalid_blocks", messages };
  }
  // Seen in the field, not documented.
  if (["plan", "task_card"].every((kind) => list.data.some(({ type }) => type === kind))) {
    return {
      ok: false,
      error: "invalid_blocks",
      messages: ["[ERROR] plan and task_card exclude each other"],
    };
  }
  const markdown = list.data.filter(({ type }) => type === "markdown").map(({ text }) => String(text));
  if (markdown.join("").length > 12_000) {
    return {
      ok: false,
      error: "invalid_blocks",
      messages: ["[ERROR] markdown blocks hold more than 12000 characters"],
    };
  }
  const cells = list.data.filter(({ type }) => type === "data_table").flatMap(({ rows }) => texts(rows));
  if (cells.join("").length > 10_000) {
    return {
      ok: false,
      error: "invalid_blocks",
      messages: ["[ERROR] the cells of all tables hold more than 10000 characters"],
    };
  }
  // Seen in the field (slackapi/bolt-js#2509), not documented.
  if (list.data.flatMap(texts).join("").length > 13_200) {
    return { ok: false, error: "msg_blocks_too_long", messages: [] };
  }
  return { ok: true, blocks: list.data };
}

/** Every text in a block, however deep. */
function texts(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    name === "text" && typeof inner === "string" ? [inner] : texts(inner),
  );
}

/** The message as people see it: its blocks, or its text if it has none. */
export function visibleText(message: FakeMessage): string {
  const lines = message.blocks.length === 0 ? [message.text] : [visibleBlocks(message.blocks)];
  return [...lines, ...message.files.map((file) => `[file ${file.name}]`)]
    .filter((line) => line !== "")
    .join("\n");
}

export function visibleBlocks(list: readonly FakeBlock[]): string {
  return list.map(visibleBlock).join("\n");
}

function visibleBlock(value: FakeBlock): string {
  const { data } = block.safeParse(value);
  switch (data?.type) {
    case "markdown":
      return data.text;
    case "section":
    case "header":
      return data.text.text;
    case "context":
      return `(${data.elements.map(({ text }) => text).join(" ")})`;
    case "actions":
      return data.elements.map(({ text }) => `[${text.text}]`).join(" ");
    case "context_actions":
      return feedbackButtons(data)
        .map(({ text }) => `[${text.text}]`)
        .join(" ");
    case "plan":
      return [data.title, ...data.tasks.map((task) => `- ${visibleCard(task)}`)].join("\n");
    case "task_card":
      return visibleCard(data);
    case "data_table":
      return data.rows.map((row) => `| ${row.map(visibleCell).join(" | ")} |`).join("\n");
    case "divider":
    case undefined:
      return "";
  }
}

function visibleCell(cell: z.infer<typeof dataTable>["rows"][number][number]): string {
  if (cell.type === "raw_text") return cell.text;
  if (cell.type === "raw_number") return cell.text ?? String(cell.value);
  return cell.elements[0].elements
    .map((element) => (element.type === "link" ? (element.text ?? element.url) : element.text))
    .join("");
}

/** The icons with which Slack draws the state of a card. */
const cardSigns = { pending: "○", in_progress: "▸", complete: "✓", error: "✗" };

/** Unfolded. */
function visibleCard({ title, status, output }: z.infer<typeof taskCard>): string {
  const [section] = output?.elements ?? [];
  const text = section?.elements.map((element) => element.text).join("");
  return `${cardSigns[status]} ${title}${text === undefined ? "" : `: ${text}`}`;
}

type FakeButton = Omit<z.infer<typeof button>, "type"> & { type: "button" | "feedback_buttons" };

/** The buttons of a message. Of feedback, which has one `action_id` for both, each is found by its value. */
export function buttonsOf(message: FakeMessage): (FakeButton & { actionId?: string })[] {
  return message.blocks.flatMap((value): (FakeButton & { actionId?: string })[] => {
    const { data } = block.safeParse(value);
    if (data?.type === "context_actions") return feedbackButtons(data);
    return data?.type === "actions" ? data.elements : [];
  });
}

function feedbackButtons({ elements }: z.infer<typeof contextActions>) {
  return elements.flatMap(({ action_id: actionId, positive_button: good, negative_button: bad }) =>
    [good, bad].map(({ text, value }) => {
      return { type: "feedback_buttons" as const, action_id: value, actionId, text, value };
    }),
  );
}

/**
 * Whom a message notifies: users and groups that its text or its blocks mention. `plain_text` takes no markup,
 * docs.slack.dev/reference/block-kit/composition-objects/text-object.
 */
export function notified(message: FakeMessage): string[] {
  const explicit = [message.text, ...message.blocks.flatMap(markedUpTexts)].join("\n");
  // Whether Slack decodes before or after it looks for mentions in Markdown is not documented: both may not notify.
  const decoded = explicit.replaceAll(/&(?:lt|#60|#x3c);?/gi, "<");
  // In its own markup Slack looks for names too, unless it is told not to.
  const names = message.blocks.flatMap(parsedTexts).join("\n");
  return [
    ...decoded.matchAll(/<(@[A-Z0-9]+|!(?:channel|here|everyone|subteam\^[A-Z0-9]+))/gi),
    ...names.matchAll(/(?<!\w)@(channel|here|everyone)\b/g),
  ].map(([, whom = ""]) => whom);
}

function markedUpTexts(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  if ("type" in value && value.type === "plain_text") return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    name === "text" && typeof inner === "string" ? [inner] : markedUpTexts(inner),
  );
}

/** Texts in Slack's own markup in which it looks for names. */
function parsedTexts(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  const { data } = mrkdwn.safeParse(value);
  if (data) return data.verbatim ? [] : [data.text];
  return Object.values(value).flatMap(parsedTexts);
}
