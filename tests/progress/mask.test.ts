import { expect, test } from "vitest";
import { createMasker } from "../../src/agent/secrets/mask-secrets.ts";
import type { ChatSurface } from "../../src/chat/surface.ts";
import { createMaskedSurface } from "../../src/progress/mask.ts";
import { memoryChat } from "../fakes/memory-chat.ts";

const secret = "correct-horse-battery";
const thread = { platform: "memory", workspace: "w", channel: "c", thread: "t" };

test("Nothing that people read of a message has a secret, whoever posts or edits it", async () => {
  const chat = memoryChat();
  const named: string[] = [];
  const upload: ChatSurface["upload"] = async (_thread, { name }) => {
    named.push(name);
    return [];
  };
  const told: unknown[] = [];
  const status: ChatSurface["status"] = async (_thread, ...shown) => void told.push(shown);
  const replyTo: ChatSurface["replyTo"] = async (_ref, ...shown) => void told.push(shown);
  const surface = createMaskedSurface({ ...chat.surface, upload, status, replyTo }, (text) =>
    createMasker([secret]).mask(text),
  );
  const message = {
    kind: "answer",
    markdown: `It is ${secret}.`,
    footer: `changed ${secret}.txt`,
    calls: {
      ...{ above: secret, below: `So ${secret}`, title: `Working on ${secret}` },
      items: [{ id: "1", name: "bash", about: `echo ${secret}`, state: "ok", result: secret }],
    },
    actions: [{ id: "answer:1:0", label: secret, style: "plain" }],
  } as const;
  const sent = { ...message, calls: { ...message.calls, items: [...message.calls.items] } };
  const [ref] = await surface.post(thread, { ...sent, actions: [...message.actions] }, "key");
  expect(chat.shown[0]?.message).toEqual({
    kind: "answer",
    markdown: "It is [masked].",
    footer: "changed [masked].txt",
    calls: {
      ...{ above: "[masked]", below: "So [masked]", title: "Working on [masked]" },
      items: [{ id: "1", name: "bash", about: "echo [masked]", state: "ok", result: "[masked]" }],
    },
    actions: [{ id: "answer:1:0", label: "[masked]", style: "plain" }],
  });
  if (!ref) throw new Error("Nothing was posted.");
  await surface.edit(ref, { kind: "answer", markdown: `Now ${secret}` });
  await surface.upload(thread, { name: `${secret}.txt`, data: Buffer.from("") }, "file");
  expect(named).toEqual(["[masked].txt"]);
  await surface.status?.(thread, `is using ${secret}…`, false, `About ${secret}`);
  await surface.status?.(thread, undefined);
  await surface.replyTo?.(ref, `No ${secret} for you`, "reply");
  expect(told).toEqual([
    ["is using [masked]…", false, "About [masked]"],
    [undefined, undefined, undefined],
    ["No [masked] for you", "reply"],
  ]);
  expect(chat.shown[0]?.message.markdown).toBe("Now [masked]");
});
