/** A process that is killed while it marks a message: `killed-marker.ts <socket of Redis> <ref as JSON>`. */
import { Redis } from "ioredis";
import type { MessageRef } from "../../../src/chat/threads.ts";
import { markMessage } from "../../../src/queue/outbox/message-marks.ts";
import { createRateLimiter } from "../../../src/queue/outbox/rate-limit.ts";
import { memoryChat } from "../../fakes/memory-chat.ts";

const [socket = "", ref = ""] = process.argv.slice(2);
const redis = new Redis(socket);
const { surface } = memoryChat({
  holdsMark() {
    process.send?.("marking");
    return new Promise<never>(() => undefined);
  },
});
const chat = { redis, output: createRateLimiter(redis), surface };
await markMessage(chat, JSON.parse(ref) as MessageRef, "taken", new AbortController().signal);
