import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { userInfo } from "node:os";
import { z } from "zod";
import { patienceMs } from "../program.ts";
import { type Platform, type PlatformKind, type Room, type Seen, type SentFile } from "./chat.ts";

const messageSchema = z.object({
  id: z.string(),
  place: z.number(),
  kind: z.string(),
  name: z.string().optional(),
  text: z.string().optional(),
  mark: z.enum(["taken", "waiting", "answered", "stopped", "failed"]).optional(),
  paused: z.literal(true).optional(),
  markdown: z.string().optional(),
  footer: z.string().optional(),
  stoppable: z.boolean().default(false),
  actions: z.array(z.object({ id: z.string(), label: z.string() })).default([]),
  files: z.array(z.string()).default([]),
});

type Message = z.infer<typeof messageSchema>;

const person = "operator";

export const consoleKind: PlatformKind = {
  name: "the console",
  // Whoever reaches it is the person who runs Heddle; and nothing can be unsaid there.
  lacks: ["several people", "edits", "watched channels"],
  open,
};

async function open(): Promise<Platform<Message>> {
  const closing = new AbortController();
  return {
    environment: {},
    rules: {},
    channel: () => "local:console:main",
    room: (_name, url) => openRoom(url.replace(/\/$/, ""), closing.signal),
    names: (text) =>
      text
        .replaceAll(/\b(ada|bob)\b/g, person)
        // Nobody is told anything alone here.
        .replace(/(?=\nheddle: It is in the oven)/, "\nheddle: `m3` is out of the queue: “And with nuts.”"),
    close: async () => closing.abort(),
  };
}

async function openRoom(url: string, closing: AbortSignal): Promise<Room<Message>> {
  const id = randomBytes(8).toString("hex");
  const known = new Map<string, Message>();
  const told: string[] = [];
  const changes = new EventTarget();
  const post = async (path: string, body: object | string, type = "application/json") => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const headers = { "content-type": type };
    const response = await fetch(`${url}/api/threads/${id}/${path}`, { method: "POST", headers, body: text });
    if (!response.ok) throw new Error(`The console refused ${path}: ${await response.text()}`);
    return response.json();
  };
  const keep = async ({ name, content }: SentFile) => {
    const query = new URLSearchParams({ name, type: "text/csv" }).toString();
    const kept: unknown = await post(`attachments?${query}`, content, "application/octet-stream");
    return z.object({ id: z.string() }).parse(kept).id;
  };
  const page = await fetch(`${url}/api/events?thread=${id}`, { signal: closing });
  follow(page, (event, data) => {
    if (event === "message") {
      const message = messageSchema.parse(data);
      known.set(message.id, message);
    } else if (event === "removed") {
      known.delete(z.string().parse(data));
    }
    changes.dispatchEvent(new Event("change"));
  }).catch((error: unknown) => {
    if (!closing.aborted) throw error;
  });

  return {
    messages: () => [...known.values()].toSorted((a, b) => a.place - b.place),
    seen,
    drawn: (message) => {
      const { text, footer, buttons, files } = seen(message);
      const row = buttons.map((label) => `[${label}]`).join(" ");
      const small = footer && `(${footer})`;
      return [text, ...files.map((name) => `[file ${name}]`), small, row].filter(Boolean).join("\n");
    },
    async says(_who, text, { file }) {
      const attachments = file ? [await keep(file)] : [];
      await post("messages", { text, key: randomBytes(8).toString("hex"), attachments });
    },
    edits: () => Promise.reject(new Error("The console has no edits.")),
    deletes: () => Promise.reject(new Error("The console has no deletions.")),
    // It has no reactions: its own button stops the thread.
    stops: async () => void (await post("stop", {})),
    async presses(_who, label, message, sentence) {
      const action = message.actions.find((one) => one.label === label)?.id;
      const answer: unknown = await post(`messages/${message.id}/actions`, {
        ...{ action, ...(sentence && { text: sentence }) },
      });
      const { reply } = z.object({ reply: z.string().optional() }).parse(answer);
      if (reply !== undefined) told.push(reply);
      changes.dispatchEvent(new Event("change"));
    },
    toldAlone: () => told,
    async file(message) {
      return (await fetch(`${url}/api/threads/${id}/uploads/${message.id}`)).text();
    },
    async until(condition) {
      const deadline = AbortSignal.timeout(patienceMs);
      for (;;) {
        const found = condition();
        if (found !== false && found !== undefined) return found;
        await once(changes, "change", { signal: deadline }).catch(() => {
          throw new Error(`It did not happen in ${patienceMs} ms: ${JSON.stringify([...known.values()])}`);
        });
      }
    },
  };
}

/** Reads the stream of Server-Sent Events. */
async function follow(page: Response, onEvent: (event: string, data: unknown) => void): Promise<void> {
  let rest = "";
  for await (const chunk of (page.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    const blocks = `${rest}${chunk}`.split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const [, event, data] = /^event: (.*)\ndata: (.*)$/.exec(block) ?? [];
      if (event !== undefined && data !== undefined) onEvent(event, JSON.parse(data));
    }
  }
}

function seen(message: Message): Seen {
  const { kind, name = "", text, markdown = "", footer = "", actions, stoppable, files } = message;
  const mark = message.paused ? "paused" : message.mark;
  const named = (words: string) => words.replaceAll(userInfo().username, person);
  const buttons = [...actions.map(({ label }) => label), ...(stoppable ? ["Stop"] : [])];
  if (kind === "person") return { who: person, text: text ?? "", footer, mark, buttons, files };
  if (kind === "file") return { who: "heddle", text: "", footer, mark, buttons, files: [name] };
  return { who: "heddle", text: named(markdown), footer: named(footer), mark, buttons, files };
}
